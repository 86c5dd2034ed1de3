# id: 793
# kind: engine - asdict dynamic getattr
from collections import Counter
T = Counter.copy(list)
from dataclasses import asdict, dataclass
from typing import TypedDict
TD = TypedDict('TD', {'gi_frame': int, '__class__': int, '__module__': int, '__subclasshook__': int})
D = dataclass(init=False, repr=False, eq=False)(TD)
BOX = asdict
class Base:
    pass
Base = D
class K(Base):
    gi_frame = 5
OBJ = T('Z', (), {'__dataclass_fields__': 1}) and K()
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(asdict(OBJ, dict_factory=list))[:300])
