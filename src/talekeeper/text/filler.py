"""What says nothing by itself: greetings, agreement, laughter, thanks, addresses and code.

In English, Russian, Spanish, Portuguese, Chinese and Japanese. It does not know what a sentence is
an answer to.
"""

import re
from collections.abc import Collection

__all__ = ["is_filler", "words_left"]

_ENGLISH = """
hello hi hey hiya heya howdy greetings good morning afternoon evening night goodnight goodbye bye
byebye cya ok okay k kk yes yeah yep yup no nope nah sure right alright well oh ah aw aww um uh er
hmm hm mm mhm huh wow whoa oops ugh lol lmao rofl haha hahaha hehe heh xd nice cool great awesome
perfect fine amazing lovely wonderful thanks thank thx ty welcome please sorry really indeed
exactly absolutely totally definitely maybe see you later soon there back again wait what so and
but then too very much how are is it that's thats this that i i'm im know me my your dear guess
same here do did it's the a an of to all be am for guys everyone everybody man god jesus go on
noted
"""
_RUSSIAN = """
привет здравствуй здравствуйте здорово доброе добрый утро день вечер ночи спокойной пока увидимся
да нет ага угу ок окей ладно хорошо ясно понятно спасибо пожалуйста извини прости ого ух ой ах ха
хаха хах хм ну вот как дела ты я тебе это что точно конечно круто класс отлично супер все всё ура
до свидания
"""
_SPANISH = """
hola buenas buenos días dias tardes noches adiós adios hasta luego mañana gracias por favor vale
sí si no claro bueno bien qué que tal cómo como estás estas genial perfecto jaja jajaja ja de nada
muy pronto tú y
"""
_PORTUGUESE = """
olá ola oi bom boa dia tarde noite tchau até logo amanhã obrigado obrigada por favor sim não nao
tá tudo bem legal ótimo kkk rs rsrs haha valeu nada e com você vai
"""
_WORDS = frozenset(f"{_ENGLISH} {_RUSSIAN} {_SPANISH} {_PORTUGUESE}".split())

# No words apart there: phrases, and the particles that end a sentence.
_PHRASES = re.compile(
    "你好|您好|早上好|早安|晚安|晚上好|下午好|再见|拜拜|谢谢(?:你|您)?|謝謝|不客气|没关系|太好了|好的|好吧|好呀|好啊|嗯+|哦+|啊+|"
    "哈+|呵+|嘿+|是的|是啊|对啊|真的吗?|原来如此|明天见|最近怎么样|怎么样|挺好的?|很好|在吗|对不起|不好意思|"
    "こんにちは|こんばんは|おはよう(?:ございます)?|おやすみ(?:なさい)?|ありがとう(?:ございます)?|さようなら|またね|"
    "じゃあ?ね|はい|いいえ|うん|ううん|ええ|そう(?:ですね|だね|なんだ|ですか|か)?|なるほど|ほんと(?:う)?|本当|"
    "すみません|ごめん(?:なさい|ね)?|元気(?:ですか)?|また明日|すごい|了解|よろしく(?:お願いします)?|笑+|ｗ+|へえ+|えっと?|"
    "[了的吧吗呢呀啦ねよかなのでしたですだ]"
)
_LONGEST_PHRASES = 40
"""Characters of what may be mere phrases in Chinese and Japanese."""

_EAST = re.compile("[\u3041-\u30ff\u3400-\u9fff]")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LINK = re.compile(r"https?://\S{24,}|www\.\S{24,}")
_CODE = re.compile(r"[{}<>=;|\\_]|\w\(\)|::|->|==")
_LONG_RUN = re.compile(r"[^\s\u3000\u3001-\u30ff\u3400-\u9fff\uac00-\ud7a3\u0e00-\u0e7f]{40,}")


def is_filler(sentence: str, names: Collection[str] = ()) -> bool:
    """Whether a sentence only greets, agrees, laughs or thanks, or is no prose at all.

    ``names`` are the casefolded words of the names of those who speak: to call somebody by name
    says nothing.
    """
    left = words_left(sentence)
    if left is not None:
        return left.issubset(names)
    if len(sentence) > _LONGEST_PHRASES:
        return False
    for name in sorted(names):
        sentence = sentence.replace(name, "")
    return sum(map(str.isalnum, _PHRASES.sub("", sentence))) < 2


def words_left(sentence: str) -> frozenset[str] | None:
    """The words by which a sentence may say something: empty where it certainly says nothing.

    Where all of them are names of those who speak, it says nothing either. None where a sentence
    has no words but characters, of which that cannot be told.
    """
    if _LINK.search(sentence) or _LONG_RUN.search(sentence):
        return frozenset()
    if len(_CODE.findall(sentence)) * 12 > len(sentence):
        return frozenset()
    if _EAST.search(sentence):
        return None
    words = frozenset(_WORD.findall(sentence.casefold())) - _WORDS
    return words | frozenset(filter(str.isdigit, sentence))
