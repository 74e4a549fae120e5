# SPDX-License-Identifier: Apache-2.0
"""Types of keys that several tables have: addresses, ports of bridges, numbers."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, WithJsonSchema

from penstock.scenario.keys import Whole, refuse, said

Nodes = Literal["model", "rtl", "linux", "plane"]

_MAC = re.compile(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}")
_PLACE = re.compile(r"([^.\s]+)\.([0-9]{1,5})")
_ANY_PLACE = re.compile(r"([^.\s]+)\.([0-9]{1,5}|\*)")


def _mac(value: Any) -> int:
    # By hand: ipaddress knows no MAC addresses.
    if not isinstance(value, str) or not _MAC.fullmatch(value):
        raise refuse(f"{said(value)} is not a MAC address", 'six bytes such as "02:00:00:00:00:01"')
    return int(re.sub("[:-]", "", value), 16)


def _ipv4(value: Any) -> int:
    try:
        if isinstance(value, str):
            return int(ipaddress.IPv4Address(value))
    except ipaddress.AddressValueError:
        pass
    raise refuse(f"{said(value)} is not an IPv4 address", 'four numbers such as "10.0.0.1"')


def _place(value: Any) -> str:
    if not isinstance(value, str) or not _PLACE.fullmatch(value):
        raise refuse(f"{said(value)} is not a port of a bridge", 'BRIDGE.PORT, such as "sw.0"')
    return value


def _any_place(value: Any) -> str:
    if not isinstance(value, str) or not _ANY_PLACE.fullmatch(value):
        raise refuse(
            f"{said(value)} is not a port of a bridge", 'BRIDGE.PORT, such as "sw.0", or "sw.*" for a free port'
        )
    return value


def _text(pattern: re.Pattern[str], title: str, example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "title": title, "pattern": f"^{pattern.pattern}$", "examples": [example]})


_IPV4_SCHEMA = {"type": "string", "title": "IPv4 address", "format": "ipv4", "examples": ["10.0.0.1"]}

MacAddress = Annotated[int, BeforeValidator(_mac), _text(_MAC, "MAC address", "02:00:00:00:00:01")]
Ipv4Address = Annotated[int, BeforeValidator(_ipv4), WithJsonSchema(_IPV4_SCHEMA)]
Place = Annotated[str, BeforeValidator(_place), _text(_PLACE, "port of a bridge", "sw.0")]
AnyPlace = Annotated[str, BeforeValidator(_any_place), _text(_ANY_PLACE, "port of a bridge", "sw.*")]
VlanId = Annotated[int, Whole(1, 4094)]
IpPort = Annotated[int, Whole(0, 65535)]


T = TypeVar("T")
ByClass = Annotated[dict[str, T], Field(json_schema_extra={"propertyNames": {"pattern": "^[0-7]$"}})]
ByNumber = Annotated[dict[str, T], Field(json_schema_extra={"propertyNames": {"pattern": "^[0-9]+$"}})]
