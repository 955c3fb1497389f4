"""A PDF in less space: Chromium writes each of 100,000 small objects by itself, uncompressed.

They are what a screen reader is told of the pages. Here they go into compressed object streams, and
the table of places becomes a stream, too (ISO 32000-1, 7.5.7 and 7.5.8). Nothing else changes.
"""

import io
import zlib

from pypdf import PdfReader
from pypdf.generic import NullObject, StreamObject

TOGETHER = 500  # objects in one stream


def pack(data):
    """The bytes of a PDF without encryption, with all but its streams compressed."""
    reader = PdfReader(io.BytesIO(data))
    objects = {n: reader.get_object(n) for n in range(1, int(reader.trailer["/Size"]))}
    objects = {n: item for n, item in objects.items() if not isinstance(item, NullObject | None)}
    small = [n for n, item in objects.items() if not isinstance(item, StreamObject)]
    out, places = io.BytesIO(), {}  # number -> (kind, place or stream, index)
    out.write(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")

    def write(number, body):
        places[number] = (1, out.tell(), 0)
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))

    for number in objects.keys() - set(small):
        write(number, written(objects[number]))
    last = max(objects)
    for start in range(0, len(small), TOGETHER):
        chosen, last = small[start : start + TOGETHER], last + 1
        bodies = [written(objects[number]) for number in chosen]
        starts, at = [], 0
        for index, (number, body) in enumerate(zip(chosen, bodies, strict=True)):
            starts.append(b"%d %d" % (number, at))
            places[number] = (2, last, index)
            at += len(body) + 1
        head = b" ".join(starts) + b"\n"
        kind = b"/Type /ObjStm /N %d /First %d" % (len(chosen), len(head))
        write(last, stream(kind, head + b"\n".join(bodies)))
    last += 1
    places[last] = (1, out.tell(), 0)
    table = bytes(7) + b"".join(
        entry(*places.get(number, (0, 0, 0))) for number in range(1, last + 1)
    )
    roots = b" ".join(
        b"%s %s" % (key.encode(), written(reader.trailer.raw_get(key)))
        for key in ("/Root", "/Info")
        if key in reader.trailer
    )
    write(last, stream(b"/Type /XRef /W [1 4 2] /Size %d %s" % (last + 1, roots), table))
    out.write(b"startxref\n%d\n%%%%EOF\n" % places[last][1])
    return out.getvalue()


def written(item):
    out = io.BytesIO()
    item.write_to_stream(out)
    return out.getvalue()


def stream(kind, data):
    packed = zlib.compress(data, 9)
    head = b"<< %s /Filter /FlateDecode /Length %d >>" % (kind, len(packed))
    return head + b"\nstream\n" + packed + b"\nendstream"


def entry(kind, place, index):
    return kind.to_bytes(1, "big") + place.to_bytes(4, "big") + index.to_bytes(2, "big")
