# SPDX-License-Identifier: Apache-2.0
"""Plain reference of the ingress for its tests: structs as integers, hashes, tables, frames."""

import random
import zlib
from dataclasses import dataclass

from structs import STRUCTS

from penstock import _engine

REASONS = {name: number for number, name in enumerate(_engine.REASONS)}


def _fields(struct):
    """The fields of a packed struct, most significant first, an array as one."""
    return tuple((name, width * (count[0] if count else 1)) for name, width, *count in STRUCTS[struct])


STORE_WRITE, CLASSIFIED, LABEL_WRITE = _fields("store_write"), _fields("classified"), _fields("label_write")
PORT_CONFIG, CONFIG = _fields("ingress_port_config"), _fields("ingress_config")
RX_BEAT, TABLE_WRITE = _fields("rx_beat"), _fields("table_write")
TABLE_STREAM_KEY, TABLE_STREAM_RATE, TABLE_GROUP, TABLE_VLAN, TABLE_FDB = range(5)
TABLE_NUMBERING = 10


def pack(layout, **values):
    number = 0
    for name, width in layout:
        value = values.pop(name, 0)
        assert 0 <= value < 1 << width, (name, value)
        number = number << width | value
    assert not values, values
    return number


def unpack(layout, number):
    values = {}
    for name, width in reversed(layout):
        values[name] = number & ((1 << width) - 1)
        number >>= width
    return values


def join(items, width):
    """Packs a list of numbers, the first in the lowest bits."""
    return sum(item << (i * width) for i, item in enumerate(items))


# ---- Streams
def ipv4_fields(source, destination, protocol, source_port, destination_port):
    return source << 72 | destination << 40 | protocol << 32 | source_port << 16 | destination_port


def stream_key(identify, port, fields):
    return identify << 107 | port << 104 | fields


def stream_slots(key, streams):
    crc = zlib.crc32(key.to_bytes(14, "little"))
    return crc % (2 * streams), (crc >> 16) % (2 * streams)


# ---- The forwarding database
def fdb_set(address, vlan, sets):
    return zlib.crc32((vlan << 48 | address).to_bytes(8, "little")) % sets


@dataclass
class FdbEntry:
    address: int
    vlan: int
    ports: int
    age: int = 3
    static: bool = False

    def pack(self):
        return 1 << 71 | self.static << 70 | self.age << 68 | self.ports << 60 | self.vlan << 48 | self.address


class Fdb:
    def __init__(self, sets):
        self.ways = [[None, None] for _ in range(sets)]

    def lookup(self, address, vlan):
        ways = self.ways[fdb_set(address, vlan, len(self.ways))]
        hits = [e for e in reversed(ways) if e and (e.address, e.vlan) == (address, vlan)]
        hits.sort(key=lambda e: not e.static)  # if software wrote two static ones, way 1
        return hits[0].ports if hits else None

    def plan_learn(self, address, vlan, port):
        """What learning would write, by what the set holds now: (set, way, entry) or None."""
        index = fdb_set(address, vlan, len(self.ways))
        ways = self.ways[index]
        entry = FdbEntry(address, vlan, 1 << port)
        hits = [w for w in (0, 1) if ways[w] and (ways[w].address, ways[w].vlan) == (address, vlan)]
        if hits:
            return None if any(ways[w].static for w in hits) else (index, hits[0], entry)
        free = [w for w in (0, 1) if not ways[w]]
        if free:
            return index, free[0], entry
        dynamic = [w for w in (0, 1) if not ways[w].static]
        if not dynamic:
            return None
        return index, min(dynamic, key=lambda w: ways[w].age), entry

    def write(self, index, way, entry):
        self.ways[index][way] = entry

    def sweep(self):
        for ways in self.ways:
            for w in (0, 1):
                if ways[w] and not ways[w].static:
                    age = (ways[w].age - 1) % 4
                    ways[w] = None if age in (0, 3) else FdbEntry(ways[w].address, ways[w].vlan, ways[w].ports, age)


# ---- ATS
class Ats:
    """The engine's schedulers, of the twin of `pen_ats`, and the cycle in which a frame may be selected."""

    def __init__(self, earliest_ns, overhead, delay_ns, schedulers=None):
        self.earliest_ns, self.overhead, self.delay_ns = earliest_ns, overhead, delay_ns
        self.schedulers = schedulers or _engine.Ats(ports=8)

    def commit(self, stream, rate):
        self.schedulers.set_rate(stream, *rate)

    def residence(self, port, traffic_class, ns):
        self.schedulers.set_group(port, traffic_class, ns)

    def frame(self, stream, group, length, arrival_ns):
        """The first cycle in which the frame may be selected, not wrapped; None: discarded."""
        eligible = self.schedulers.frame(*group, stream, arrival_ns, length + self.overhead)
        if eligible is None:
            return None
        return max((arrival_ns + self.earliest_ns) // 8, _engine.ats_visible_cycle(eligible, self.delay_ns))


# ---- Frames
@dataclass
class Frame:
    data: bytes  # with FCS
    destination: int
    source: int
    tag: tuple[int, int] | None  # (PCP, VLAN id)
    ipv4: int | None  # fields of the key, not masked
    reason: int = 0
    short_gap: int = 0
    sequence_number: int | None = None  # of its R-TAG
    correction: int | None = None  # of an event message of PTP, to which something can be added
    arrival: int = 0  # cycle


def random_message(rng: random.Random) -> tuple[bytes, int | None]:
    """A message of PTP from the EtherType on, and its correction if it is one of an event."""
    message_type = rng.choice((0, 1, 2, 3, 0x10, 4, 8, 0xC))
    upper = rng.choice((0, 0x7FFE, 0x7FFF, 0xFFFF, 0xFF, rng.getrandbits(16)))
    field = upper << 48 | rng.choice((0, (1 << 48) - 1, rng.getrandbits(48)))
    message = b"\x88\xf7" + bytes([message_type, 2]) + rng.randbytes(6) + field.to_bytes(8, "big")
    return message, field if message_type & 0xC == 0 and upper != 0x7FFF else None


def begun(field: int, arrival: int) -> dict[str, int]:
    """What goes on of a correction, of a frame that came in this cycle."""
    cycles = ((field >> 19) % (1 << 29) - arrival) % (1 << 30)
    return {"is_due": 1, "is_carried": int(field >> 48 & 0xFF == 0xFF), "cycles": cycles}


def random_frame(rng: random.Random, destinations, sources, vlans, flows, sizes=None):
    """A frame of some kind: tagged or not, IPv4 with or without options and fragments, or something else."""
    destination, source = rng.choice(destinations), rng.choice(sources)
    head = destination.to_bytes(6, "big") + source.to_bytes(6, "big")
    tag = None
    if rng.random() < 0.7:
        tag = rng.randrange(8), rng.choice(vlans)
        head += b"\x81\x00" + (tag[0] << 13 | rng.getrandbits(1) << 12 | tag[1]).to_bytes(2, "big")
    ipv4 = sequence_number = correction = None
    body = b""
    has_type = rng.random() < 0.2
    if has_type:
        reserved, number = rng.choice((0, 0, 1, 0x8000)), rng.getrandbits(16)
        head += b"\xf1\xc1" + reserved.to_bytes(2, "big") + number.to_bytes(2, "big")
        sequence_number = None if reserved else number
    size = rng.choice(sizes) if sizes else rng.choice((64, 64, 65, 127, 128, 129, 136, rng.randrange(64, 300), 1522))
    if rng.random() < 0.7:
        from_ip, to_ip, protocol, from_port, to_port = rng.choice(flows)
        words = rng.choice((5, 5, 5, 6, 10, 15, 3))
        version = rng.choice((4, 4, 4, 4, 6))
        fragment = rng.choice((0x0000, 0x4000, 0x2000, 0x2000, 0x0001, 0x1000, 0x1F00, 0x20B9))
        options = rng.randbytes(4 * max(words - 5, 0))
        ip = bytes([version << 4 | words, 0]) + rng.randbytes(4) + fragment.to_bytes(2, "big")
        ip += bytes([64, protocol]) + rng.randbytes(2) + from_ip.to_bytes(4, "big") + to_ip.to_bytes(4, "big") + options
        body = b"\x08\x00" + ip + from_port.to_bytes(2, "big") + to_port.to_bytes(2, "big")
        has_ports = protocol in (6, 17) and not fragment & 0x1FFF
        needed = len(head) + 2 + len(ip) + (4 if has_ports else 0)
        if version == 4 and words >= 5 and needed + 4 <= size and not has_type:
            ipv4 = ipv4_fields(from_ip, to_ip, protocol, from_port if has_ports else 0, to_port if has_ports else 0)
    elif rng.random() < 0.5:
        body, correction = random_message(rng)
        if has_type:  # what follows an R-TAG is no type
            correction = None
    else:
        body = rng.choice((b"\x86\xdd", b"\x08\x06", b"\x00\x2e", b"\x81\x00\x00\x05\x08\x00\x45"))
        if tag is None and body[0] == 0x81 and not has_type:  # a second tag is data, a first one is not
            body = b"\x88\xa8"
    data = (head + body + rng.randbytes(size))[: size - 4]
    data += zlib.crc32(data).to_bytes(4, "little")
    return Frame(data, destination, source, tag, ipv4, sequence_number=sequence_number, correction=correction)
