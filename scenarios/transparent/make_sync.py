# SPDX-License-Identifier: Apache-2.0
"""Makes sync.pcapng: Sync messages of a one-step master, one every 125 us, as IEEE 1588 has them over Ethernet."""

from pathlib import Path

from penstock.captures import CapturedFrame, write_pcapng

EVERY_NS = 125_000
MESSAGES = 40


def sync(number: int) -> bytes:
    """With the time of its sending, and a correction of a quarter of a nanosecond less than none."""
    header = bytes([0x00, 0x02]) + (44).to_bytes(2, "big") + bytes(2) + b"\x02\x00"
    header += (-(1 << 14)).to_bytes(8, "big", signed=True)
    header += bytes(4) + bytes.fromhex("020000fffe0000010001") + number.to_bytes(2, "big") + bytes([0, 0xFD])
    origin = (number * EVERY_NS).to_bytes(10, "big")
    return bytes.fromhex("011b19000000 020000000001 88f7") + header + origin


if __name__ == "__main__":
    frames = [CapturedFrame(number * EVERY_NS * 1000, sync(number), len(sync(number))) for number in range(MESSAGES)]
    write_pcapng(Path(__file__).with_name("sync.pcapng"), frames)
