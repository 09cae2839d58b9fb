"""Base classes of the generated operation classes: attributes as descriptors, and the class that builds operations.

A descriptor reads an attribute as a Python value, makes it from one, and checks whether an attribute is of its kind.
There is a descriptor class for each kind of attribute in ``Autobatch.td`` (``KINDS``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar, overload

from hlobatch._jax import ir, register_dialect, register_operation

T = TypeVar("T")
OpT = TypeVar("OpT", bound="Op")


class Attribute(Generic[T]):
    """One attribute of an operation."""

    optional: ClassVar[bool] = False
    name: str

    def __set_name__(self, owner: type[Op], name: str) -> None:
        self.name = name
        owner.ATTRIBUTES = {**owner.ATTRIBUTES, name: self}

    @overload
    def __get__(self, op: None, owner: Any = None) -> Attribute[T]: ...
    @overload
    def __get__(self, op: Op, owner: Any = None) -> T: ...
    def __get__(self, op: Op | None, owner: Any = None) -> Any:
        if op is None:
            return self
        return self.read(op.operation.attributes.get(self.name))

    def read(self, attribute: Any) -> T:
        """The Python value of an attribute; the attribute is None if it is optional and missing."""
        raise NotImplementedError

    def write(self, value: T) -> Any:
        """The attribute of a Python value; None for no attribute."""
        raise NotImplementedError

    def accepts(self, attribute: Any) -> bool:
        """Whether an attribute is of this kind."""
        raise NotImplementedError


class Text(Attribute[str]):
    """A string."""

    def read(self, attribute: Any) -> str:
        return str(ir.StringAttr(attribute).value)

    def write(self, value: str) -> Any:
        return ir.StringAttr.get(value)

    def accepts(self, attribute: Any) -> bool:
        return isinstance(attribute, ir.StringAttr)


class OptionalText(Attribute[str | None]):
    """A string or nothing."""

    optional = True

    def read(self, attribute: Any) -> str | None:
        return None if attribute is None else str(ir.StringAttr(attribute).value)

    def write(self, value: str | None) -> Any:
        return None if value is None else ir.StringAttr.get(value)

    def accepts(self, attribute: Any) -> bool:
        return isinstance(attribute, ir.StringAttr)


class Flag(Attribute[bool]):
    """True where it is written, false where it is not."""

    optional = True

    def read(self, attribute: Any) -> bool:
        return attribute is not None

    def write(self, value: bool) -> Any:
        return ir.UnitAttr.get() if value else None

    def accepts(self, attribute: Any) -> bool:
        return isinstance(attribute, ir.UnitAttr)


class Symbol(Attribute[str]):
    """The name of a symbol of the module, without its ``@``."""

    def read(self, attribute: Any) -> str:
        return str(ir.FlatSymbolRefAttr(attribute).value)

    def write(self, value: str) -> Any:
        return ir.FlatSymbolRefAttr.get(value)

    def accepts(self, attribute: Any) -> bool:
        return isinstance(attribute, ir.FlatSymbolRefAttr)


class Symbols(Attribute[tuple[str, ...]]):
    """Names of symbols of the module, without their ``@``."""

    def read(self, attribute: Any) -> tuple[str, ...]:
        return tuple(str(ir.FlatSymbolRefAttr(item).value) for item in ir.ArrayAttr(attribute))

    def write(self, value: Sequence[str]) -> Any:
        return ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(name) for name in value])

    def accepts(self, attribute: Any) -> bool:
        symbol = ir.FlatSymbolRefAttr
        return isinstance(attribute, ir.ArrayAttr) and all(isinstance(item, symbol) for item in attribute)


class Anything(Attribute[Any]):
    """Any attribute, as it is."""

    def read(self, attribute: Any) -> Any:
        return attribute

    def write(self, value: Any) -> Any:
        return value

    def accepts(self, attribute: Any) -> bool:
        return True


KINDS: Final[dict[str, type[Attribute[Any]]]] = {
    "AnyAttr": Anything,
    "Autobatch_Vars": Symbols,
    "FlatSymbolRefAttr": Symbol,
    "OptionalAttr<StrAttr>": OptionalText,
    "StrAttr": Text,
    "SymbolNameAttr": Text,
    "UnitAttr": Flag,
}
"""The descriptor of each kind of attribute in ``Autobatch.td``."""


class Op(ir.OpView):
    """An operation of the dialect.

    Attributes:
        ATTRIBUTES: Its attributes, by name.
        CONSTRAINTS: Labels of its constraints.
        IS_TERMINATOR: Whether it ends its block.
        PARENT: The name of the operation that it has to be in.
        SUCCESSORS: Names of its successors.
    """

    OPERATION_NAME: ClassVar[str]
    ATTRIBUTES: ClassVar[dict[str, Attribute[Any]]] = {}
    CONSTRAINTS: ClassVar[tuple[str, ...]] = ()
    IS_TERMINATOR: ClassVar[bool] = False
    PARENT: ClassVar[str] = ""
    SUCCESSORS: ClassVar[tuple[str, ...]] = ()
    _ODS_REGIONS = (0, True)

    def _build(self, successors: Sequence[Any], loc: Any, ip: Any, **values: Any) -> None:
        """Create the operation, with the values of its attributes."""
        written = {name: self.ATTRIBUTES[name].write(value) for name, value in values.items()}
        ir.OpView.__init__(
            self,
            self.OPERATION_NAME,
            self._ODS_REGIONS,
            None,
            None,
            attributes={name: attribute for name, attribute in written.items() if attribute is not None},
            results=[],
            operands=[],
            successors=list(successors) or None,
            regions=None,
            loc=loc,
            ip=ip,
        )


class _Dialect(ir.Dialect):
    DIALECT_NAMESPACE = "autobatch"


register_dialect(_Dialect, __package__ or "")
OPS: Final[dict[str, type[Op]]] = {}
"""The class of each operation, by the operation's name."""


def registered(op: type[OpT]) -> type[OpT]:
    """A class decorator that registers a class with MLIR's bindings."""
    OPS[op.OPERATION_NAME] = op
    register_operation(_Dialect, op)
    return op
