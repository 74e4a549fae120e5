// SPDX-License-Identifier: Apache-2.0
//! A column of the trace: what it is, and its pages in a row group that is not complete yet.
use penstock_net::Row;
use polars_parquet_format::{
    ConvertedType, DataPageHeader, DictionaryPageHeader, Encoding, FieldRepetitionType, IntType, LogicalType,
    PageHeader, PageType, SchemaElement, StringType, Type,
};

use crate::bits::width;
use crate::distinct::Distinct;
use crate::file::{thrift, TraceError};
use crate::{deltas, indices};

/// What the numbers of a row stand for, by number.
#[derive(Clone, Debug, Default)]
pub struct Names {
    pub streams: Vec<String>,
    pub nodes: Vec<String>,
    pub events: Vec<String>,
    pub reasons: Vec<String>,
}

/// What its values are.
enum Values {
    Names(Vec<String>),
    /// Whole numbers of so many bits, few of them different.
    Numbers(i8, Distinct),
    /// Numbers that move on from row to row.
    Moving,
}

/// A column of the file; the values of a row are read by it.
#[derive(Clone, Copy)]
enum Field {
    Frame,
    Stream,
    Node,
    Port,
    Event,
    Time,
    Bytes,
    TrafficClass,
    Reason,
}

pub struct Column {
    pub name: &'static str,
    field: Field,
    values: Values,
    /// Of the row group that is written.
    pages: Vec<u8>,
    // Memory that is used again.
    content: Vec<u8>,
    places: Vec<u32>,
}

impl Column {
    /// In the order of the file.
    pub fn all(names: Names) -> Vec<Self> {
        let column = |name, field, values| Self {
            name,
            field,
            values,
            pages: Vec::new(),
            content: Vec::new(),
            places: Vec::new(),
        };
        let numbers = |bits| Values::Numbers(bits, Distinct::default());
        vec![
            column("frame_id", Field::Frame, Values::Moving),
            column("stream", Field::Stream, Values::Names(names.streams)),
            column("node", Field::Node, Values::Names(names.nodes)),
            column("port", Field::Port, numbers(16)),
            column("event", Field::Event, Values::Names(names.events)),
            column("time_ps", Field::Time, Values::Moving),
            column("bytes", Field::Bytes, numbers(32)),
            column("traffic_class", Field::TrafficClass, numbers(8)),
            column("reason", Field::Reason, Values::Names(names.reasons)),
        ]
    }

    pub fn physical(&self) -> Type {
        match self.values {
            Values::Names(..) => Type::BYTE_ARRAY,
            Values::Numbers(..) => Type::INT32,
            Values::Moving => Type::INT64,
        }
    }

    /// Its part of the schema.
    pub fn element(&self) -> SchemaElement {
        let number = |bits| LogicalType::INTEGER(IntType::new(bits, false));
        let (converted, logical) = match self.values {
            Values::Names(..) => (ConvertedType::UTF8, LogicalType::STRING(StringType {})),
            Values::Numbers(8, ..) => (ConvertedType::UINT_8, number(8)),
            Values::Numbers(16, ..) => (ConvertedType::UINT_16, number(16)),
            Values::Numbers(bits, ..) => (ConvertedType::UINT_32, number(bits)),
            Values::Moving => (ConvertedType::UINT_64, number(64)),
        };
        SchemaElement {
            type_: Some(self.physical()),
            type_length: None,
            repetition_type: Some(FieldRepetitionType::REQUIRED),
            name: self.name.to_owned(),
            num_children: None,
            converted_type: Some(converted),
            scale: None,
            precision: None,
            field_id: None,
            logical_type: Some(logical),
        }
    }

    /// Adds a page.
    pub fn add(&mut self, rows: &[Row]) -> Result<(), TraceError> {
        // What reads a value is part of the loop that encodes it.
        match self.field {
            Field::Frame => self.add_moving(rows, |row| row.frame),
            Field::Stream => self.add_places(rows, |row| row.stream),
            Field::Node => self.add_places(rows, |row| row.node),
            Field::Port => self.add_numbers(rows, |row| row.port),
            Field::Event => self.add_places(rows, |row| row.event as u32),
            Field::Time => self.add_moving(rows, |row| row.time_ps),
            Field::Bytes => self.add_numbers(rows, |row| row.bytes),
            Field::TrafficClass => self.add_numbers(rows, |row| u16::from(row.traffic_class)),
            Field::Reason => self.add_places(rows, |row| u32::from(row.reason.0)),
        }
    }

    #[inline(always)]
    fn add_moving(&mut self, rows: &[Row], number: impl Fn(&Row) -> u64) -> Result<(), TraceError> {
        self.content.clear();
        deltas::encode(rows, number, &mut self.content);
        self.end_page(rows.len(), Encoding::DELTA_BINARY_PACKED)
    }

    #[inline(always)]
    fn add_places(&mut self, rows: &[Row], place: impl Fn(&Row) -> u32) -> Result<(), TraceError> {
        let Values::Names(names) = &self.values else { return Ok(()) };
        self.content.clear();
        let most = indices::encode(rows, |row| u64::from(place(row)), place_bits(names.len()), &mut self.content);
        if most >= names.len() as u64 {
            return Err(TraceError::NoName { column: self.name, number: most });
        }
        self.end_page(rows.len(), Encoding::RLE_DICTIONARY)
    }

    #[inline(always)]
    fn add_numbers(&mut self, rows: &[Row], number: impl Fn(&Row) -> u16) -> Result<(), TraceError> {
        let Values::Numbers(_, distinct) = &mut self.values else { return Ok(()) };
        self.content.clear();
        self.places.clear();
        self.places.extend(rows.iter().map(|row| distinct.place(number(row))));
        let bits = place_bits(distinct.numbers().len());
        indices::encode(&self.places, |&place| u64::from(place), bits, &mut self.content);
        self.end_page(rows.len(), Encoding::RLE_DICTIONARY)
    }

    fn end_page(&mut self, rows: usize, encoding: Encoding) -> Result<(), TraceError> {
        // Where no value is missing there are no levels, whatever encoding is named.
        let (definition, repetition) = (Encoding::RLE, Encoding::RLE);
        let header = DataPageHeader::new(rows as i32, encoding, definition, repetition, None);
        let header = PageHeader { data_page_header: Some(header), ..page(PageType::DATA_PAGE, self.content.len()) };
        thrift(&mut self.pages, |protocol| header.write_to_out_protocol(protocol))?;
        self.pages.extend_from_slice(&self.content);
        Ok(())
    }

    /// The page that stands before all others, if there is one.
    pub fn dictionary(&self) -> Result<Option<Vec<u8>>, TraceError> {
        let mut content = Vec::new();
        let count = match &self.values {
            Values::Names(names) => {
                for name in names {
                    content.extend_from_slice(&(name.len() as u32).to_le_bytes());
                    content.extend_from_slice(name.as_bytes());
                }
                names.len()
            }
            Values::Numbers(_, distinct) => {
                content.extend(distinct.numbers().iter().flat_map(|&number| u32::from(number).to_le_bytes()));
                distinct.numbers().len()
            }
            Values::Moving => return Ok(None),
        };
        let header = DictionaryPageHeader::new(count as i32, Encoding::PLAIN, None);
        let header =
            PageHeader { dictionary_page_header: Some(header), ..page(PageType::DICTIONARY_PAGE, content.len()) };
        let mut found = Vec::with_capacity(content.len() + 32);
        thrift(&mut found, |protocol| header.write_to_out_protocol(protocol))?;
        found.extend_from_slice(&content);
        Ok(Some(found))
    }

    pub fn encodings(&self) -> Vec<Encoding> {
        match self.values {
            Values::Moving => vec![Encoding::DELTA_BINARY_PACKED],
            // Of the dictionary's own page too.
            Values::Names(..) | Values::Numbers(..) => vec![Encoding::PLAIN, Encoding::RLE_DICTIONARY],
        }
    }

    /// Pages of the row group so far.
    pub fn pages(&self) -> &[u8] {
        &self.pages
    }

    /// Begins another row group.
    pub fn clear(&mut self) {
        self.pages.clear();
        if let Values::Numbers(_, distinct) = &mut self.values {
            distinct.clear();
        }
    }
}

/// Of places in a dictionary; not every reader takes none.
fn place_bits(entries: usize) -> u32 {
    width(entries.saturating_sub(1) as u64).max(1)
}

fn page(kind: PageType, bytes: usize) -> PageHeader {
    PageHeader {
        type_: kind,
        uncompressed_page_size: bytes as i32,
        compressed_page_size: bytes as i32,
        crc: None,
        data_page_header: None,
        index_page_header: None,
        dictionary_page_header: None,
        data_page_header_v2: None,
    }
}
