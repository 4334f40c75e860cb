"""What makes a sentence worth remembering, whatever the chat is about.

By patterns in English, Russian, Spanish, Portuguese, Chinese and Japanese, which are few and plain
on purpose. All languages are tried on every sentence: people mix them. It does not know the rest of
the chat.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["names_in", "salience"]


_EAST = re.compile("[\u3041-\u30ff\u3400-\u9fff]")
_LATIN = re.compile("[a-z\u00c0-\u024f]")
_CYRILLIC = re.compile("[\u0400-\u052f]")


@dataclass(frozen=True, slots=True)
class _Patterns:
    """What to look for, in small letters, where a sentence has letters of these scripts."""

    latin: re.Pattern[str] | None
    cyrillic: re.Pattern[str] | None
    east: re.Pattern[str] | None


def _any(*parts: str) -> _Patterns:
    east = [part for part in parts if _EAST.search(part)]
    cyrillic = [part for part in parts if part not in east and _CYRILLIC.search(part)]
    latin = [part for part in parts if part not in (*east, *cyrillic)]
    scripts = (latin, cyrillic, east)
    return _Patterns(*(re.compile("|".join(found)) if found else None for found in scripts))


_MONTHS = (
    "january|february|april|june|july|august|september|october|november|december|enero|febrero|"
    "marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|janeiro|fevereiro|"
    "março|maio|junho|julho|setembro|outubro|novembro|dezembro"
)
_DAYS = (
    "(?:mon|tues|wednes|thurs|fri|satur|sun)day|lunes|martes|miércoles|jueves|viernes|sábado|"
    "domingo|(?:segunda|terça|quarta|quinta|sexta)-feira"
)

_KINDS: Mapping[str, tuple[float, _Patterns]] = MappingProxyType(
    {
        "health": (
            1.0,
            _any(
                r"\b(?:allerg|asthma|diabet|epilep|insulin|pregnan|intoleran|vegan|vegetarian)",
                r"\b(?:deaf|blind|injector|medication|medicine for|panic attack|can.?t eat)\b",
                r"\b(?:alérgic|alergi|diabét|embaraz|grávid|vegetarian|celíac|celiac)",
                "аллерги|астм|диабет|беремен|вегетариан|непереносим|эпилеп|принимаю (?:лекарств|"
                "табл)",
                "过敏|過敏|哮喘|糖尿病|怀孕|懷孕|吃素|素食|忌口|アレルギー|喘息|妊娠|ベジタリアン|菜食|食べられない",
            ),
        ),
        "promise": (
            1.0,
            _any(
                r"\b(?:promis|swear\b|vow(?:ed|s)?\b|give you my word|you have my word|pinky)",
                r"\bpromet|\bpromess|\bjuro\b|\bte doy mi palabra|\bdou minha palavra",
                r"\bобеща|\bклянусь|\bдаю слово|\bслово даю",
                "答应|答應|保证|保證|承诺|承諾|发誓|發誓|约定|約定|約束|誓う|誓い|誓っ",
            ),
        ),
        "name": (
            0.9,
            _any(
                r"\bmy (?:\w+['’]s |\w+ )?name(?:['’]s| is| was)|\bcall me\b|\bi['’]m called\b",
                r"\b(?:is|was) (?:called|named)\b|\bname was\b",
                r"\bme llamo\b|\bme chamo\b|\bmi nombre es\b|\bmeu nome é\b|\bse llama\b|"
                r"\bse chama\b",
                r"\bменя зовут|\bего зовут|\bе[её] зовут|\bзови(?:те)? меня|\bмо[её] имя",
                "我叫|我的名字|名叫|名字是|叫我|叫做|と申します|と呼んで|名前は|っていいます|といいます",
            ),
        ),
        "self": (
            0.55,
            _any(
                r"\bi (?:live|work|study|studied|moved|grew up|was born|was raised|come from|"
                r"teach)\b",
                r"\bi['’]?(?:m| am) (?:from|a|an|the|\d+|afraid|scared|married|engaged|divorced)\b",
                r"\bmy (?:job|birthday|home ?town|address|phone)\b|\byears old\b|\bfor a living\b",
                r"\b(?:vivo en|trabajo (?:en|como|de)|nací|soy de|mi cumpleaños|tengo \d+ años)\b",
                r"\b(?:moro em|trabalho (?:em|como|na|no|de)|nasci|sou de|meu aniversário)\b",
                r"\bя (?:живу|работаю|родил|учусь|переехал|из)|\bмне \d+ (?:лет|год)|"
                r"\bдень рождени",
                "我住|我在.{1,8}(?:工作|上班|上学|读书)|我今年|生日|我来自|我是.{1,6}人",
                "住んで|働いて|誕生日|出身|生まれ|歳です|歳だ",
            ),
        ),
        "likes": (
            0.5,
            _any(
                r"\bi(?: \w+)? (?:love|hate|adore|prefer|like|can['’]?t stand|dislike)\b",
                r"\b(?:favou?rite|afraid of|scared of|terrified of|fan of)\b|\bi['’]ve always\b",
                r"\bme (?:gusta|encanta|da miedo)|\bodio\b|\bfavorit|\bprefiero\b|\badoro\b|"
                r"\bdetesto\b",
                r"\b(?:eu )?(?:gosto de|prefiro|tenho medo)\b",
                r"\b(?:люблю|обожаю|ненавижу|терпеть не могу|любим(?:ый|ая|ое)|предпочитаю|"
                r"боюсь)\b",
                "喜欢|喜歡|讨厌|討厭|最爱|最愛|害怕|好き|大好|嫌い|苦手|怖い",
            ),
        ),
        "people": (
            0.45,
            _any(
                r"\bmy (?:\w+ )?(?:wife|husband|mother|father|mom|mum|dad|sister|brother|son|"
                r"daughter|"
                r"grand\w+|aunt|uncle|cousin|friend|partner|girlfriend|boyfriend|boss|dog|cat|"
                r"family)\b",
                r"\bmi (?:madre|padre|hermano|hermana|hijo|hija|esposa|marido|abuel[oa]|"
                r"novi[oa]|jefe|"
                r"perr[oa]|gat[oa]|amig[oa])\b",
                r"\bminha (?:mãe|irmã|filha|esposa|avó|namorada|chefe|amiga|gata)\b",
                r"\bmeu (?:pai|irmão|filho|marido|avô|namorado|chefe|amigo|gato|cachorro)\b",
                r"\b(?:мой|моя|моего|моей|моему|мою) (?:мам|пап|отец|отц|мать|брат|сестр|муж|"
                r"жен|сын|"
                "доч|бабуш|дедуш|подруг|друг|кот|кошк|собак|начальни)",
                "我(?:的)?(?:妈妈|爸爸|母亲|父亲|姐姐|妹妹|哥哥|弟弟|丈夫|妻子|老公|老婆|儿子|女儿|奶奶|爷爷|外婆|男朋友|女朋友|猫|狗)",
                "私の(?:母|父|兄|弟|姉|妹|夫|妻|息子|娘|祖母|祖父|猫|犬|友)|(?:母|父|兄|弟|姉|妹|祖母|祖父|彼氏|彼女)(?:が|は)",
            ),
        ),
        "event": (
            0.45,
            _any(
                r"\b(?:died|passed away|was killed|married|divorced|broke up|pregnant|got the job|"
                r"fired|hospital|accident|moved (?:to|in|out)|graduat\w+|arrested|secret|betray\w*|"
                r"confess\w*|kiss(?:ed|es)|murder\w*|lost my|found out|never told)\b",
                r"\b(?:murió|falleció|se casó|accidente|secreto|morreu|faleceu|acidente|segredo)\b",
                r"\b(?:умер|погиб|женил|вышла замуж|развел|больниц|авари|секрет|тайн|переехал|"
                r"уволи)",
                "去世|结婚|離婚|离婚|分手|住院|车祸|秘密|搬到|辞职|亡くな|結婚|離婚|別れ|入院|事故|引っ越|退職",
            ),
        ),
        "decision": (
            0.4,
            _any(
                r"\b(?:decided|agreed|it['’]s a deal|made up my mind|settled then|i choose|"
                r"we chose)\b",
                r"\b(?:decidí|decidimos|acordamos|decidi|combinamos|quedamos en)\b",
                r"\b(?:решил|договорил|условил|я выбираю)",
                "决定|決定|说好了|說好了|一言为定|決めた|決めました|ことにした|ことにします",
            ),
        ),
        "plan": (
            0.3,
            _any(
                r"\b(?:i|we|you|he|she|they)(?:['’]ll| will| must| have to| need to| should)\b",
                r"\b(?:going to|gonna|plan(?:ning)? to|don['’]?t forget|remember to|remind me|"
                r"deadline|"
                r"appointment|tomorrow|tonight|next (?:week|month|year|time))\b",
                r"\b(?:tengo que|tenemos que|voy a|vamos a|mañana|la próxima|no olvides|"
                r"recuérdame)\b",
                r"\b(?:tenho que|preciso|vou|amanhã|na próxima|não (?:se )?esqueça|lembre)\b",
                r"\b(?:завтра|послезавтра|через (?:недел|месяц|год)|на следующ|должн|нужно|надо|"
                "не забудь|напомни|собираюсь|буду|приду|приеду)",
                "明天|后天|下周|下週|下个月|下次|必须|必須|别忘|別忘|记得|記得|打算|提醒我",
                "明日|来週|来月|今度|忘れない|つもり|予定|しなければ|しなきゃ",
            ),
        ),
        "date": (
            0.35,
            _any(
                rf"\b(?:{_MONTHS}|{_DAYS})\b",
                r"\b(?:январ|феврал|апрел|июн|июл|август|сентябр|октябр|ноябр|декабр|"
                r"понедельник|вторник|"
                "сред[уы]|четверг|пятниц|суббот|воскресень)|(?<=\\d )ма(?:рта|я)\\b",
                r"\d\s*(?:月|日|点|時|年)|星期|周[一二三四五六日]|[月火水木金土日]曜",
                r"\b\d{1,2}[:.]\d{2}\b|\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}(?:st|nd|rd|th)\b",
            ),
        ),
        "firsthand": (
            0.1,
            _any(
                r"\b(?:i|my|we|our)\b(?!['’]?m (?:sorry|fine|ok))",
                r"\b(?:yo|mi|mis|nosotros|eu|meu|minha|nós)\b",
                r"\b(?:я|мой|моя|мне|меня|мы|наш\w*)\b",
                "我|私|俺|僕",
            ),
        ),
    }
)

_NUMBER, _NUMBER_WEIGHT = re.compile(r"\d"), 0.15

# A name inside a sentence: a capital that does not begin it; a run of katakana.
_NAMES = re.compile(
    '(?<=[^.!?…\\s"“«*(—–-] )(?!I\\b)[A-ZÀ-ÖØ-Þ\u0410-\u042f][a-zß-ÿ\u0430-\u044f]{2,}'
    "|[\u30a1-\u30ff]{3,}"
)


def salience(sentence: str) -> float:
    """How worth remembering a sentence is by what it says: 0, or up to about 3."""
    text = sentence.lower()
    found = _NUMBER_WEIGHT if _NUMBER.search(text) else 0.0
    latin = _LATIN.search(text)
    cyrillic = east = None
    if not text.isascii():
        cyrillic, east = _CYRILLIC.search(text), _EAST.search(text)
    for weight, patterns in _KINDS.values():
        if (
            (latin and patterns.latin and patterns.latin.search(text))
            or (cyrillic and patterns.cyrillic and patterns.cyrillic.search(text))
            or (east and patterns.east and patterns.east.search(text))
        ):
            found += weight
    return found


def names_in(sentence: str) -> int:
    """How many different names of people and places a sentence seems to have within it."""
    return len(set(_NAMES.findall(sentence)))
