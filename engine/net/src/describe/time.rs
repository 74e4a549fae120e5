// SPDX-License-Identifier: Apache-2.0
//! How times stand in the description: as numbers, or as text, since what reads JSON rounds numbers beyond 64 bit.
use std::fmt;

use penstock_shaper::Time;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

struct Told(Time);

impl<'de> Deserialize<'de> for Told {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Numbers).map(Self)
    }
}

struct Numbers;

impl Visitor<'_> for Numbers {
    type Value = Time;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a whole number from 0 to {}, or one as text", Time::MAX)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Time, E> {
        Ok(Time::from(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Time, E> {
        text.parse().map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

pub fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
    Told::deserialize(deserializer).map(|told| told.0)
}

pub fn time_if_told<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
    Option::<Told>::deserialize(deserializer).map(|told| told.map(|told| told.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Time>, serde_json::Error> {
        time_if_told(&mut serde_json::Deserializer::from_str(text))
    }

    #[test]
    fn a_time_is_a_number_or_text() {
        for (text, wanted) in
            [("7", Some(7)), ("\"7\"", Some(7)), ("null", None), ("18446744073709551615", Some(u64::MAX))]
        {
            assert_eq!(read(text).unwrap(), wanted.map(Time::from), "{text}");
        }
        for text in ["-1", "\"-1\"", "1.5", "\"\"", "\"18446744073709551616\"", "[1]"] {
            let told = read(text).unwrap_err().to_string();
            assert!(told.contains("whole number"), "{text}: {told}");
        }
    }
}
