"""Names for sessions, so that people need not read ids aloud: `quiet-otter` (cli.md 9.1).

A name is derived from the id and stored nowhere, so it is the same on every machine. That holds only as long as the lists
never change: a word added, removed or moved would rename every session there is. A better list becomes a new version at
the end of `VERSIONS`; names from earlier versions are still found. The words were read through one by one and in pairs:
plain nouns and animals, nothing that names a person or calls one something.
"""

from __future__ import annotations

import hashlib

_ADJECTIVES_1 = (
    "able active adept agile airy alert alpine apt arctic ardent artful astute avid aware azure balanced balmy "
    "basic beige blithe bold boreal brave breezy bright brisk broad bronze bubbly calm candid careful caring casual "
    "cautious cedar central certain chalky checkered cheerful chief chilly civic civil classic clean clear clever "
    "close cloudy coastal cobalt cogent compact complete constant content cool copper cordial cosmic cosy courtly "
    "crimson crisp curious cyan daily dainty dapper dappled daring deep deft denim dewy direct distant double "
    "drizzly durable eager early earthy easy elegant eminent endless epic equal even exact fabled factual fair "
    "famous fancy far fast feathered felted festive fine firm flannel fleet flexible fluent fluffy focal foggy fond "
    "formal free fresh friendly frosty frugal full funny gallant gentle genuine giant gifted giving glad glassy "
    "gleaming global glossy glowing graceful grand granite grateful great green handy happy hazy hearty helpful "
    "hidden honest hopeful humble icy ideal immense inner inventive jaunty jolly jovial joyful jubilant just keen "
    "kind kindly knitted large lasting leading leafy learned level light likely lilac limber linen lively local "
    "lofty logical loyal lucid lucky luminous lunar lyrical magenta main marble maroon mauve mellow melodic mild "
    "mindful minor mint modern modest moonlit mossy musical mutual narrow natural neat nimble normal notable novel "
    "oaken ochre open orderly ornate outer papery pastel patient patterned peaceful pebbled perfect placid plaid "
    "plain playful pleasant plucky poetic polar polished polite popular precise prime prompt proper proud proven "
    "prudent purple quaint quick quiet quilted rainy rapid rare ready real recent refined regal regular relaxed "
    "reliable resolute restful rhythmic robust round rugged rural russet rustic safe sapphire scenic secure sedate "
    "select sepia serene settled shaded sharp shiny silent silken silver simple sincere skilled slate sleek smart "
    "smooth snowy snug social soft solar solid sonic sound spare sparkling special speckled speedy spirited "
    "splendid spotted spry square stable starlit starry stately steady stellar still striped strong studious sturdy "
    "stylish subtle sunlit superb sure tactful tame tartan teal tender thankful thorough thrifty tidal tidy tiled "
    "timely tranquil tropical true trusty turquoise umber unique united upbeat upper urban useful valiant valid "
    "vast verbal vermilion vernal versatile vibrant vigilant vintage vital vivid vocal wandering warm watchful wavy "
    "waxed whole wicker wide wild willing wintry wise witty wondrous wooden woolen worthy woven zesty zippy"
).split()

_NOUNS_1 = (
    "acorn albatross alder almond alpaca anchor anchovy antelope apple apricot arbor arch armadillo atoll auk "
    "avocet axolotl badger bamboo bandicoot banjo barbet barley barn barnacle basin basket beacon beech beetle "
    "bench birch bison bittern bluebird boat bobbin bobcat bonfire book bottle boulder bramble bridge bucket "
    "buffalo bumblebee bunting buoy burbot butterfly button buzzard cabin cactus camel candle canoe canvas canyon "
    "caracal caravan cardinal caribou carrot cassowary castle catfish cavern cello chapter cheetah chestnut "
    "chickadee chinchilla chipmunk cicada cinder citrus civet cloud coati cobble coffee comet compass condor coot "
    "cormorant cottage cove coyote cranberry crane crater creek cricket crocus curlew cuttlefish cypress desert "
    "dial dingo dolphin dome dormouse dove dragonfly drum dugong dune dunlin eagle echidna egret eider eland elk "
    "elm engine ermine estuary fable falcon fathom feather fennel ferret ferry fiddle field fig finch firefly fjord "
    "flamingo flounder flute forge fossil fountain fox gable galaxy gannet garden garlic gate gazelle gecko gerbil "
    "geyser giraffe glacier globe gnu goldfinch granary grebe greyhound grouse grove gulf gull guppy haddock "
    "halibut hammer hammock hamster harbor hare harp harrier harvest hawk hearth hedge hedgehog helmet heron "
    "herring hickory hill hilltop hoopoe horizon hornbill ibex ibis iguana impala inlet island isthmus jackdaw "
    "jaguar jerboa jetty kakapo kangaroo kayak kelp kestrel kettle kiln kingfisher kite koala krill kudu ladder "
    "ladybird lagoon lamp lamprey lantern lapwing larch lattice leaf ledge lemon lentil leopard library lichen "
    "limpet lizard llama lobster locket loom lorikeet lotus lupin lute lynx macaw magpie mallard mammoth manatee "
    "mandolin mango mantis marmot marsh mayfly medley meerkat mesa meteor mill minnow mirror mole mongoose monsoon "
    "moor moose mosaic moth mountain mulberry mural mushroom muskox narwhal nautilus nebula nectar needle nettle "
    "newt nightjar notebook numbat nuthatch nutmeg oak oasis oboe ocelot octopus okapi orbit orchard orchid oriole "
    "oryx osprey ostrich otter oven owl oyster paddle pagoda palette palm panda pangolin panther papaya paprika "
    "parade parcel parrot parsley pasture path pavilion pebble pelican pencil penguin pepper perch petal petrel "
    "pheasant piano pier pika pillar pine pinnacle pipit planet plateau platypus plaza plover pocket polecat pond "
    "poplar porcupine porpoise portal prairie prism ptarmigan puffin puma pumpkin puzzle pylon pyramid quail quarry "
    "quartz quetzal quill quilt quince quokka rabbit radish raft rainbow ravine reef reindeer ribbon ridge rocket "
    "roof rook rudder sable saddle sail salmon sandpiper sapling sardine satchel saucer scallop seahorse serval "
    "sextant shell shore shrike signal silo siskin sketch skink skua skylark sled snail snipe sonata spark sparrow "
    "spinach spindle spire spruce squid squirrel starfish starling stoat stork stream sturgeon summit sundial "
    "sunrise sunset swan tablet tanager tangerine tapir teapot tench tent tern terrace terrapin thicket thimble "
    "thistle thyme tiger timber toffee torch tortoise toucan tower trail trellis trout trumpet tulip tuna tundra "
    "tunnel turbine turnip turret turtle twig valley vessel viaduct village vine violin volcano vole waffle wagon "
    "wagtail wallaby walnut walrus warbler waterfall wave waxwing wharf wheat wheel whimbrel whistle wildcat "
    "windmill window wolf wolverine wombat wreath yak yarrow yew zebra zebu zenith zephyr zinnia zither"
).split()

VERSIONS = ((_ADJECTIVES_1, _NOUNS_1),)
"""Every pair of lists that ever gave names, the newest last."""


def name_of(session_id: str) -> str:
    """The name to show: two lowercase words and a hyphen."""
    return _name(session_id, len(VERSIONS) - 1)


def names_of(session_id: str) -> list[str]:
    """Every name the session was ever shown under, the present one first."""
    return [_name(session_id, version) for version in reversed(range(len(VERSIONS)))]


def _name(session_id: str, version: int) -> str:
    adjectives, nouns = VERSIONS[version]
    digest = hashlib.sha256(session_id.encode()).digest()
    first, second = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:16], "big")
    return f"{adjectives[first % len(adjectives)]}-{nouns[second % len(nouns)]}"
