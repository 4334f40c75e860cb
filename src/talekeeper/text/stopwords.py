"""Words that carry grammar rather than meaning, by language.

Short lists of our own: articles, pronouns, prepositions, auxiliaries, and what English, Russian,
Spanish and Portuguese speakers fill a pause with. Chinese and Japanese have characters instead,
because words are not told apart there.
"""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["STOP_CHARACTERS", "STOP_WORDS"]

_ENGLISH = """
a an the this that these those here there it its he him his she her hers they them their theirs we
us our ours you your yours i me my mine myself yourself himself herself itself themselves who whom
whose which what when where why how and or but nor so yet if then than because while as until
although though of in on at by for with about against between into through during before after
above below to from up down out off over under again further once is am are was were be been being
have has had having do does did doing done can could will would shall should may might must not no
yes any all both each few more most other some such only own same too very just also even still
now ever never always let get got go goes going gone went come comes came make made take took say
says said know think see look want like okay ok oh ah um uh hmm mm yeah yep nope hey hi well right
really actually maybe perhaps kind sort lot bit thing things something anything nothing everything
one two s t re ve ll m d don didn doesn isn aren wasn weren won wouldn couldn shouldn can't gonna
wanna gotta guys guy man please sure good great around back way
"""
_RUSSIAN = """
и в во не что он на я с со как а то все всё она так его но да ты к у же вы за бы по только ее её
мне было вот от меня еще ещё нет о из ему теперь когда даже ну ли если уже или ни быть был него до
вас нибудь опять уж вам сказал ведь там потом себя ничего ей может они тут где есть надо ней для
мы тебя их чем была сам чтоб без будто чего раз тоже себе под будет ж тогда кто этот того потому
этого какой совсем ним здесь этом один почти мой моя моё мои тем чтобы нее неё были куда зачем всех
можно при об хоть над больше тот через эти нас про них какая много разве эту свою этой перед чуть
том такой им более всегда конечно всю между это твой твоя твои наш ваш очень просто ага угу ой ах
хм ладно хорошо давай
"""
_SPANISH = """
el la los las un una unos unas lo al del de a en y o u e que qué se su sus le les me te nos os mi
mis tu tus mí ti yo tú él ella ello ellos ellas nosotros vosotros usted ustedes este esta esto
estos estas ese esa eso esos esas aquel aquella aquello con sin por para como cómo más menos pero
si sí no ni ya muy también tampoco cuando cuándo donde dónde quien quién cual cuál es son era eran
fue fueron ser soy eres somos está están estoy estás estaba estar hay ha he has han había haber
tengo tienes tiene tener hacer hace hago voy vas va vamos van ir puedo puede porque pues entonces
así aquí ahí allí bien bueno vale claro hasta desde entre sobre todo toda todos todas algo nada
nunca siempre otro otra otros otras hoy ahora
"""
_PORTUGUESE = """
o a os as um uma uns umas ao aos à às do da dos das de em no na nos nas num numa e ou que se seu
sua seus suas lhe lhes me te nós vos meu minha meus minhas teu tua mim ti eu tu ele ela eles elas
você vocês este esta isto esse essa isso aquele aquela aquilo com sem por pelo pela para pra como
mais menos mas sim não nem já muito também quando onde quem qual é são era eram foi foram ser sou
és somos está estão estou estava estar há tem tenho têm tinha ter fazer faz vou vai vamos vão ir
posso pode porque pois então assim aqui aí ali bem bom tá né até desde entre sobre tudo toda todo
todos todas algo nada nunca sempre outro outra outros outras hoje agora
"""

STOP_WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "en": frozenset(_ENGLISH.split()),
        "ru": frozenset(_RUSSIAN.split()),
        "es": frozenset(_SPANISH.split()),
        "pt": frozenset(_PORTUGUESE.split()),
    }
)
"""Casefolded words by two-letter code."""

STOP_CHARACTERS = frozenset(
    "的了是我你他她它们們这這那哪在有和就不也都很吧吗嗎呢啊哦嗯呀啦要会會能可说說着著过過地得把被让讓给給"
    "跟与與及或但而又还還去来來到个個一上下么麼什怎"
)
"""Chinese characters of grammar; a pair of two of them says nothing."""
