# SPDX-License-Identifier: Apache-2.0
"""From the keys of a scenario to a JSON schema: each with what it means, its unit, its limits and its default."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from penstock.scenario.model import Scenario

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def scenario_schema() -> dict[str, Any]:
    """The schema of `scenario.toml`, read as JSON; its instants are texts.

    It knows each key by itself. What keys mean together, and whether a text is below the limit that its title names, is
    known to `penstock check`.
    """
    schema = Scenario.model_json_schema(schema_generator=_AsWritten)
    return {"$schema": DIALECT, **schema, "title": "Penstock scenario"}


class _AsWritten(GenerateJsonSchema):
    """TOML has no null, quantities are texts, and a key needs no title beside its name."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        made = self.generate_inner(schema["schema"])
        default = schema.get("default")
        quantity = schema["schema"].get("metadata", {}).get("quantity")
        if quantity is not None and default is not None:
            return made | {"default": quantity.kind.write(default)}
        return made | {"default": default} if isinstance(default, bool | int | str) else made

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False
