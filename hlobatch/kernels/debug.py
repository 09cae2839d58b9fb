"""Places in the user's source -> debug information in LLVM IR, by which profilers and debuggers show the source."""

from __future__ import annotations

from pathlib import PurePath

from hlobatch.diagnostics import UNKNOWN, Location


class Places:
    """The source locations of one function's instructions, and the metadata that describes them."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, int, int], str] = {}
        self._files: dict[str, str] = {}

    def mark(self, location: Location) -> str:
        """The name of the metadata node for a location."""
        key = location.file, location.line, location.column
        return self._numbers.setdefault(key, f"!{1000 + len(self._numbers)}")

    def metadata(self, name: str, location: Location, *, is_grid: bool) -> str:
        """The lines of metadata for the function ``name`` and all its locations; empty if none is known.

        Code of a GPU has the locations as line directives only: with tables of lines it would count as code to be
        debugged.
        """
        if location is UNKNOWN and not self._numbers:
            return ""
        own = self._file(location.file)
        unit = f'language: DW_LANG_Python, file: {own}, producer: "hlobatch", isOptimized: true, runtimeVersion: 0'
        unit += f", emissionKind: {'DebugDirectivesOnly' if is_grid else 'LineTablesOnly'}"
        function = f"scope: {own}, file: {own}, line: {location.line}, scopeLine: {location.line}, type: !3, unit: !0"
        function += ", spFlags: DISPFlagDefinition | DISPFlagOptimized"
        lines = [
            "!llvm.dbg.cu = !{!0}",
            "!llvm.module.flags = !{!1, !2}",
            f"!0 = distinct !DICompileUnit({unit})",
            '!1 = !{i32 2, !"Dwarf Version", i32 4}',
            '!2 = !{i32 2, !"Debug Info Version", i32 3}',
            "!3 = !DISubroutineType(types: !4)",
            "!4 = !{}",
            f"!5 = distinct !DISubprogram(name: {_quoted(name)}, {function})",
        ]
        for (file, line, column), number in self._numbers.items():
            scope = "!5" if file == location.file else self._scope(file)
            lines.append(f"{number} = !DILocation(line: {line}, column: {min(column, 65535)}, scope: {scope})")
        for file, number in self._files.items():
            path = PurePath(file)
            where = f"filename: {_quoted(path.name)}, directory: {_quoted(str(path.parent))}"
            lines.append(f"{number} = !DIFile({where})")
            lines.append(f"{self._scope(file)} = !DILexicalBlockFile(scope: !5, file: {number}, discriminator: 0)")
        return "\n".join(lines)

    def _file(self, file: str) -> str:
        return self._files.setdefault(file, f"!{10 + len(self._files)}")

    def _scope(self, file: str) -> str:
        return f"!{500 + int(self._file(file)[1:])}"


def _quoted(text: str) -> str:
    """A string literal of metadata; bytes that LLVM does not read literally are escaped."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in text.encode()) + '"'
