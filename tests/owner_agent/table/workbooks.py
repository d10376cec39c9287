"""Writes a small workbook, as spreadsheet programs do."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_DATE_STYLE = 1
_FIRST_DAY = dt.date(1899, 12, 30)


def write_workbook(path: Path, rows: Sequence[Sequence[object]]) -> None:
    """Write rows of texts, numbers, dates and truth values into the one sheet of a workbook."""
    written = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
    types = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels"'
        ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{types}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{types}.styles+xml"/>'
        f'<Override PartName="/xl/sheet.xml" ContentType="{types}.worksheet+xml"/></Types>',
        "_rels/.rels": _links(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_LINKS}"><sheets>'
        '<sheet name="Tabelle1" sheetId="1" r:id="r0"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": _links(("worksheet", "sheet.xml"), ("styles", "styles.xml")),
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><cellXfs><xf numFmtId="0"/>'
        '<xf numFmtId="14"/></cellXfs></styleSheet>',
        "xl/sheet.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{written}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as book:
        for name, text in files.items():
            book.writestr(name, text)


def _links(*targets: tuple[str, str]) -> str:
    each = (
        f'<Relationship Id="r{place}" Type="{_LINKS}/{kind}" Target="{target}"/>'
        for place, (kind, target) in enumerate(targets)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{"".join(each)}</Relationships>'


def _cell(value: object) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, dt.date):
        return f'<c s="{_DATE_STYLE}"><v>{(value - _FIRST_DAY).days}</v></c>'
    if isinstance(value, int | float):
        return f"<c><v>{value}</v></c>"
    return f'<c t="inlineStr"><is><t>{escape(str(value))}</t></is></c>'
