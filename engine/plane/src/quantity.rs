// SPDX-License-Identifier: Apache-2.0
//! Quantities as people write them: `"15Mb/s"`, `"3.5ms"`, `"64B"`. A plain number is in the unit of the type.
use std::fmt;

use serde::{de, Deserialize, Deserializer};

/// A rate in b/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub u64);

/// A time or a duration in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nanoseconds(pub u64);

/// A time in ns that may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignedNanoseconds(pub i64);

/// How much faster something is, in parts of 10^9.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drift(pub i64);

/// A length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length(pub u64);

/// A unit, and how many of the smallest unit it is.
type Unit = (&'static str, u64);

const RATES: &[Unit] = &[("Gb/s", 1_000_000_000), ("Mb/s", 1_000_000), ("kb/s", 1_000), ("b/s", 1)];
const TIMES: &[Unit] = &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
const DRIFTS: &[Unit] = &[("ppm", 1_000), ("ppb", 1)];
const LENGTHS: &[Unit] = &[("kB", 1_000), ("B", 1)];

/// Reads a decimal number with a unit, exactly.
fn read(text: &str, units: &[Unit]) -> Option<u64> {
    let from = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(from);
    let scale = units.iter().find(|known| known.0 == unit.trim_start())?.1;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if part.len() > 9 || (number.contains('.') && part.is_empty()) {
        return None;
    }
    let parts = 10_u128.pow(part.len() as u32);
    let value = whole.parse::<u128>().ok()?.checked_mul(parts)?;
    let value = value.checked_add(if part.is_empty() { 0 } else { part.parse().ok()? })?;
    let value = value.checked_mul(u128::from(scale))?;
    (value % parts == 0).then(|| u64::try_from(value / parts).ok()).flatten()
}

struct Quantity {
    units: &'static [Unit],
    example: &'static str,
}

impl de::Visitor<'_> for Quantity {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "{}, or a whole number of {}",
            self.example,
            self.units.iter().find(|unit| unit.1 == 1).map_or("", |u| u.0)
        )
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<u64, E> {
        Ok(value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<u64, E> {
        u64::try_from(value).map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
        read(text, self.units).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

macro_rules! quantity {
    ($name:ident, $units:ident, $example:literal) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Quantity { units: $units, example: $example }).map($name)
            }
        }
    };
}
quantity!(Rate, RATES, "a rate as \"15Mb/s\"");
quantity!(Nanoseconds, TIMES, "a time as \"3.5ms\"");
quantity!(Length, LENGTHS, "a length as \"1522B\"");

/// The same, with a sign ahead of it.
struct Signed(Quantity);

impl de::Visitor<'_> for Signed {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<i64, E> {
        i64::try_from(value).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<i64, E> {
        Ok(value)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<i64, E> {
        let (is_negative, size) = text.strip_prefix('-').map_or((false, text), |size| (true, size));
        let value = read(size, self.0.units).and_then(|value| i64::try_from(value).ok());
        let value = value.map(|value| if is_negative { -value } else { value });
        value.ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

macro_rules! signed_quantity {
    ($name:ident, $units:ident, $example:literal) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Signed(Quantity { units: $units, example: $example })).map($name)
            }
        }
    };
}
signed_quantity!(SignedNanoseconds, TIMES, "a time as \"-3.5ms\"");
signed_quantity!(Drift, DRIFTS, "a drift as \"-5.56ppm\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_exactly_or_refused() {
        assert_eq!(read("3.5ms", TIMES), Some(3_500_000));
        assert_eq!(read("15 Mb/s", RATES), Some(15_000_000));
        assert_eq!(read("0.5kB", LENGTHS), Some(500));
        assert_eq!(serde_json::from_str::<Drift>("\"-5.56ppm\"").unwrap(), Drift(-5560));
        assert_eq!(serde_json::from_str::<SignedNanoseconds>("-7").unwrap(), SignedNanoseconds(-7));
        assert!(serde_json::from_str::<Drift>("\"--1ppm\"").is_err());
        for wrong in ["", "5", "ms", "1.5ns", "1.ms", ".5ms", "-1ms", "1e3ms", "5m", "99999999999999999999s", "1..5ms"]
        {
            assert_eq!(read(wrong, TIMES), None, "{wrong}");
        }
    }

    #[test]
    fn a_refusal_says_what_is_allowed() {
        let error = serde_json::from_str::<Rate>("\"15Mb\"").unwrap_err().to_string();
        assert!(error.contains("a rate as \"15Mb/s\", or a whole number of b/s"), "{error}");
        assert!(serde_json::from_str::<Rate>("-4").is_err());
        assert_eq!(serde_json::from_str::<Rate>("4").unwrap(), Rate(4));
    }
}
