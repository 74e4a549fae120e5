// SPDX-License-Identifier: Apache-2.0
//! What the host of a node of tiles has: the file that `penstock torus show --json` writes.
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use penstock_frame::MacAddress;
use serde::Deserialize;
use thiserror::Error;

/// Of this program's files.
pub const VERSION: u32 = 1;

/// A node's neighbours and routes, by the names of its interfaces.
#[derive(Clone, Debug, Deserialize)]
pub struct Node {
    pub version: u32,
    #[serde(rename = "node")]
    pub name: String,
    /// Nothing is done at another one.
    pub interfaces: Vec<String>,
    pub neighbours: Vec<Neighbour>,
    pub routes: Vec<Route>,
}

/// The MAC address of a gateway, which nobody is asked for.
#[derive(Clone, Debug, Deserialize)]
pub struct Neighbour {
    pub interface: String,
    pub address: Ipv4Addr,
    pub mac: MacAddress,
}

/// A way to one address; of several in a table the one with the least metric whose link is there.
#[derive(Clone, Debug, Deserialize)]
pub struct Route {
    pub table: u32,
    pub destination: Ipv4Addr,
    pub metric: u32,
    pub interface: String,
    pub gateway: Ipv4Addr,
    pub source: Ipv4Addr,
}

/// Why a file is no node.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NodeError {
    #[error("{0}")]
    Json(String),
    #[error("version: is {0}; allowed: {VERSION}")]
    Version(u32),
    #[error("interfaces: are none, or one is there twice; allowed: each once")]
    Interfaces,
    #[error("{place}: \"{name}\" is none of its interfaces; allowed: {allowed}")]
    Foreign { place: String, name: String, allowed: String },
}

impl Node {
    /// Reads a file's text.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn parse(text: &str) -> Result<Self, NodeError> {
        let node: Self = serde_json::from_str(text).map_err(|error| NodeError::Json(error.to_string()))?;
        if node.version != VERSION {
            return Err(NodeError::Version(node.version));
        }
        let known: BTreeSet<_> = node.interfaces.iter().collect();
        if known.is_empty() || known.len() < node.interfaces.len() {
            return Err(NodeError::Interfaces);
        }
        let neighbours = node.neighbours.iter().map(|each| ("neighbours", &each.interface));
        let routes = node.routes.iter().map(|each| ("routes", &each.interface));
        for (number, (place, name)) in neighbours.enumerate().chain(routes.enumerate()) {
            if !known.contains(name) {
                let (place, allowed) = (format!("{place}[{number}].interface"), node.interfaces.join(", "));
                return Err(NodeError::Foreign { place, name: name.clone(), allowed });
            }
        }
        Ok(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"version": 1, "node": "0,0,0,0", "interfaces": ["row", "side"], "commands": [],
        "neighbours": [{"interface": "row", "address": "10.0.1.2", "mac": "02:00:00:00:01:02"}],
        "routes": [{"table": 7000, "destination": "10.0.1.2", "metric": 10, "interface": "row", "gateway": "10.0.1.2",
                    "source": "10.0.1.1"}]}"#;

    #[test]
    fn a_file_is_a_node() {
        let node = Node::parse(TEXT).expect("it is right");
        assert_eq!((node.name.as_str(), node.neighbours.len(), node.routes[0].metric), ("0,0,0,0", 1, 10));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (right, wrong, told) in [
            (r#""version": 1"#, r#""version": 2"#, "version: is 2; allowed: 1"),
            (r#"["row", "side"]"#, "[]", "interfaces: are none"),
            (r#"["row", "side"]"#, r#"["row", "row"]"#, "one is there twice"),
            (
                r#"["row", "side"]"#,
                r#"["side"]"#,
                "neighbours[0].interface: \"row\" is none of its interfaces; allowed: side",
            ),
            (
                r#""metric": 10, "interface": "row""#,
                r#""metric": 10, "interface": "eth0""#,
                "routes[0].interface: \"eth0\"",
            ),
            ("02:00:00:00:01:02", "02:00", "line 2"),
            ("\"10.0.1.1\"", "\"10.0.1\"", "line 4"),
            ("}]}", "}]", "EOF"),
        ] {
            let fault = Node::parse(&TEXT.replace(right, wrong)).expect_err(wrong).to_string();
            assert!(fault.contains(told), "{wrong}: {fault}");
        }
    }
}
