"""What may be asked of a session: small values that panels, keys and the mouse post."""

from ..command import Command
from .camera import *
from .edits import *
from .files import *
from .inside import *
from .observe import *
from .rows import *
from .run import *
from .runs import *
