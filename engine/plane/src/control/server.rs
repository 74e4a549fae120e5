// SPDX-License-Identifier: Apache-2.0
//! The Unix socket: its connections, and the file that it is found by.
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

use serde_json::json;

use super::request::{answer, MOST_REQUEST_BYTES};
use super::Line;

const MOST_CONNECTIONS: usize = 16;

/// Serves until it is dropped, which removes the socket's file.
pub struct Server {
    path: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = fs::remove_file(&self.path);
    }
}

impl Server {
    /// A socket that nobody listens to any more is replaced.
    pub fn start(path: &Path, ports: Vec<String>, line: Line) -> io::Result<Self> {
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && UnixStream::connect(path).is_err() => {
                fs::remove_file(path)?;
                UnixListener::bind(path)?
            }
            bound => bound?,
        };
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let (ports, open) = (Arc::new(ports), Arc::new(AtomicUsize::new(0)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (ports, open, line) = (Arc::clone(&ports), Arc::clone(&open), line.clone());
                if open.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                    open.fetch_sub(1, Ordering::Relaxed);
                    let _ = write_line(&stream, &refusal("connections", "too many", &format!("{MOST_CONNECTIONS}")));
                    continue;
                }
                thread::spawn(move || {
                    // Whoever went away does not hear of it.
                    let _ = serve(&stream, &ports, &line);
                    open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        Ok(Self { path: path.to_owned() })
    }
}

fn refusal(place: &str, what: &str, allowed: &str) -> serde_json::Value {
    json!({"ok": false, "error": {"place": place, "what": what, "allowed": allowed}})
}

fn serve(stream: &UnixStream, ports: &[String], line: &Line) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut text = Vec::new();
        (&mut reader).take(MOST_REQUEST_BYTES as u64).read_until(b'\n', &mut text)?;
        match text.last() {
            None => return Ok(()),
            Some(b'\n') => write_line(stream, &answer(&text, ports, line))?,
            // Cut off, or longer than is read: nothing of it is done.
            Some(_) => return write_line(stream, &refusal("request", "is cut off", "a whole line, of 1 MiB at most")),
        }
    }
}

fn write_line(mut stream: &UnixStream, value: &serde_json::Value) -> io::Result<()> {
    stream.write_all(format!("{value}\n").as_bytes())
}
