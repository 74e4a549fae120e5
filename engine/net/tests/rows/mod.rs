// SPDX-License-Identifier: Apache-2.0
//! An observer that keeps all rows of the trace.
use penstock_net::{Observer, Row};

#[derive(Default)]
pub struct Rows(pub Vec<Row>);

impl Observer for Rows {
    fn rows(&mut self, rows: &mut Vec<Row>) -> bool {
        self.0.append(rows);
        true
    }
    fn progress(&mut self, _done: f64) -> bool {
        true
    }
}
