// SPDX-License-Identifier: Apache-2.0
//! The file: row groups, one after the other, and at its end what says where they are.
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use penstock_net::Row;
use polars_parquet_format::thrift::protocol::TCompactOutputProtocol;
use polars_parquet_format::{
    thrift, ColumnChunk, ColumnMetaData, ColumnOrder, CompressionCodec, FileMetaData, KeyValue, RowGroup,
    SchemaElement, Statistics, TypeDefinedOrder,
};

use crate::column::{Column, Names};

const MAGIC: &[u8] = b"PAR1";
/// Rows of a row group, after which it is written; of a page at most.
const GROUP: usize = 1 << 18;
const PAGE: usize = 1 << 14;

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error("{number} has no name in column \"{column}\"")]
    NoName { column: &'static str, number: u64 },
    #[error("{0}")]
    Format(String),
}

/// A trace that is being written. It can be read once it was closed.
pub struct TraceFile {
    file: File,
    position: u64,
    columns: Vec<Column>,
    group_rows: usize,
    /// Least and greatest time of the row group.
    times: (u64, u64),
    groups: Vec<RowGroup>,
    rows: u64,
    metadata: Vec<(String, String)>,
}

impl TraceFile {
    /// Creates the file, or empties it.
    pub fn create(path: &Path, names: Names) -> Result<Self, TraceError> {
        let mut file = Self {
            file: File::create(path)?,
            position: 0,
            columns: Column::all(names),
            group_rows: 0,
            times: (u64::MAX, 0),
            groups: Vec::new(),
            rows: 0,
            metadata: Vec::new(),
        };
        file.put(MAGIC)?;
        Ok(file)
    }

    /// Says something of the trace in the file.
    pub fn tell(&mut self, key: String, value: String) {
        self.metadata.push((key, value));
    }

    pub fn write(&mut self, rows: &[Row]) -> Result<(), TraceError> {
        for rows in rows.chunks(PAGE) {
            for column in &mut self.columns {
                column.add(rows)?;
            }
            self.times =
                rows.iter().fold(self.times, |(least, most), row| (least.min(row.time_ps), most.max(row.time_ps)));
            self.rows += rows.len() as u64;
            self.group_rows += rows.len();
            if self.group_rows >= GROUP {
                self.end_group()?;
            }
        }
        Ok(())
    }

    /// Writes what is left, and what a reader looks for first. Gives how many rows there are.
    pub fn close(mut self) -> Result<u64, TraceError> {
        if self.group_rows > 0 {
            self.end_group()?;
        }
        let root = SchemaElement {
            type_: None,
            type_length: None,
            repetition_type: None,
            name: "schema".to_owned(),
            num_children: Some(self.columns.len() as i32),
            converted_type: None,
            scale: None,
            precision: None,
            field_id: None,
            logical_type: None,
        };
        let orders = vec![ColumnOrder::TYPEORDER(TypeDefinedOrder {}); self.columns.len()];
        let told = self.metadata.drain(..).map(|(key, value)| KeyValue::new(key, value)).collect();
        let footer = FileMetaData {
            version: 2,
            schema: std::iter::once(root).chain(self.columns.iter().map(Column::element)).collect(),
            num_rows: self.rows as i64,
            row_groups: std::mem::take(&mut self.groups),
            key_value_metadata: Some(told),
            created_by: Some(concat!("penstock version ", env!("CARGO_PKG_VERSION")).to_owned()),
            column_orders: Some(orders),
            encryption_algorithm: None,
            footer_signing_key_metadata: None,
        };
        let mut bytes = Vec::new();
        self::thrift(&mut bytes, |protocol| footer.write_to_out_protocol(protocol))?;
        bytes.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        bytes.extend_from_slice(MAGIC);
        self.put(&bytes)?;
        Ok(self.rows)
    }

    fn end_group(&mut self) -> Result<(), TraceError> {
        let mut columns = std::mem::take(&mut self.columns);
        let start = self.position;
        let chunks = columns.iter().map(|column| self.put_column(column)).collect::<Result<Vec<_>, _>>()?;
        let bytes = (self.position - start) as i64;
        self.groups.push(RowGroup {
            columns: chunks,
            total_byte_size: bytes,
            num_rows: self.group_rows as i64,
            sorting_columns: None,
            file_offset: Some(start as i64),
            total_compressed_size: Some(bytes),
            ordinal: i16::try_from(self.groups.len()).ok(),
        });
        columns.iter_mut().for_each(Column::clear);
        self.columns = columns;
        self.group_rows = 0;
        self.times = (u64::MAX, 0);
        Ok(())
    }

    fn put_column(&mut self, column: &Column) -> Result<ColumnChunk, TraceError> {
        let start = self.position;
        let dictionary = column.dictionary()?;
        self.put(dictionary.as_deref().unwrap_or_default())?;
        let data = self.position;
        self.put(column.pages())?;
        let bytes = (self.position - start) as i64;
        // Those of the time alone: nobody looks for rows by another column.
        let statistics = (column.name == "time_ps").then(|| Statistics {
            max: None,
            min: None,
            null_count: Some(0),
            distinct_count: None,
            max_value: Some(self.times.1.to_le_bytes().to_vec()),
            min_value: Some(self.times.0.to_le_bytes().to_vec()),
            is_max_value_exact: Some(true),
            is_min_value_exact: Some(true),
        });
        let told = ColumnMetaData {
            type_: column.physical(),
            encodings: column.encodings(),
            path_in_schema: vec![column.name.to_owned()],
            codec: CompressionCodec::UNCOMPRESSED,
            num_values: self.group_rows as i64,
            total_uncompressed_size: bytes,
            total_compressed_size: bytes,
            key_value_metadata: None,
            data_page_offset: data as i64,
            index_page_offset: None,
            dictionary_page_offset: dictionary.map(|_| start as i64),
            statistics,
            encoding_stats: None,
            bloom_filter_offset: None,
            bloom_filter_length: None,
            size_statistics: None,
        };
        Ok(ColumnChunk {
            file_path: None,
            file_offset: 0,
            meta_data: Some(told),
            offset_index_offset: None,
            offset_index_length: None,
            column_index_offset: None,
            column_index_length: None,
            crypto_metadata: None,
            encrypted_column_metadata: None,
        })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        self.file.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}

/// Adds a structure in the form in which Parquet has them.
pub fn thrift(
    to: &mut Vec<u8>,
    write: impl FnOnce(&mut TCompactOutputProtocol<&mut Vec<u8>>) -> thrift::Result<usize>,
) -> Result<(), TraceError> {
    write(&mut TCompactOutputProtocol::new(to)).map_err(|error| TraceError::Format(error.to_string()))?;
    Ok(())
}
