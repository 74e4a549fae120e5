// SPDX-License-Identifier: Apache-2.0
//! The program's one thread: it waits for the virtual machine, the wire, registers and the card's own time.
//!
//! Time is the machine's, or that of whoever asks: see [`Host::run_by_steps`].
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};

use crate::card::{Card, Outcome};
use crate::steps::{Asked, Step};
use crate::tally::Tally;
use crate::uart::Bridge;
use crate::verilated::Verilated;
use crate::vhost_user::{Connection, Session};
use crate::wire::Wire;

/// The program looks so often whether it is to stop.
const LONGEST_WAIT: Duration = Duration::from_millis(200);
/// Frames that come in a row before the others have their turn.
const BURST: usize = 64;

/// A socket that is found by its path, and one connection at a time.
struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Door {
    fn open(path: &Path) -> io::Result<Self> {
        // A socket that nobody listens to any more is replaced.
        if UnixStream::connect(path).is_err() {
            let _ = std::fs::remove_file(path);
        }
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path: path.to_owned() })
    }

    fn next(&self) -> Option<UnixStream> {
        self.listener.accept().ok().map(|(stream, _)| stream)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// What somebody is to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ready {
    Machine,
    Message,
    Kick(usize),
    Wire,
    RegistersDoor,
    Registers,
    Asked,
}

pub struct Host<C> {
    card: C,
    wire: Wire,
    machines: Door,
    session: Session,
    connection: Option<Connection>,
    registers: Option<(Door, Option<UnixStream>)>,
    bridge: Bridge,
    tally: Tally,
    begin: Instant,
}

impl<C: Card> Host<C> {
    /// Serves a virtual machine at a socket, and registers at another one.
    pub fn new(card: C, wire: Wire, machine: &Path, registers: Option<&Path>) -> io::Result<Self> {
        let pairs = card.pairs();
        Ok(Self {
            card,
            wire,
            machines: Door::open(machine)?,
            session: Session::new(pairs),
            connection: None,
            registers: registers.map(|path| Door::open(path).map(|door| (door, None))).transpose()?,
            bridge: Bridge::default(),
            tally: Tally::new(pairs),
            begin: Instant::now(),
        })
    }

    /// Until the flag says stop, or nobody asks any more: each line that comes by `asking` is answered by what was counted.
    pub fn run(&mut self, stop: &AtomicBool, asking: BorrowedFd<'_>, told: &mut impl Write) -> io::Result<()> {
        while !stop.load(Ordering::Relaxed) {
            let mut outcome = Outcome::default();
            let quiet = self.card.advance(self.begin.elapsed(), &mut outcome);
            self.pass_on(outcome)?;
            for ready in self.wait(quiet.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT), asking)? {
                if ready != Ready::Asked {
                    self.attend(ready)?;
                    continue;
                }
                let mut text = [0; 256];
                let count = rustix::io::read(asking, &mut text)?;
                if count == 0 {
                    return Ok(());
                }
                for _ in text[..count].iter().filter(|&&byte| byte == b'\n') {
                    writeln!(told, "{}", self.counted())?;
                }
                told.flush()?;
            }
        }
        Ok(())
    }

    /// Does what somebody waits for who asks nothing.
    fn attend(&mut self, ready: Ready) -> io::Result<()> {
        match ready {
            Ready::Machine => self.greet()?,
            Ready::Message => self.listen(),
            Ready::Kick(ring) => self.kicked(ring),
            Ready::Wire => self.receive()?,
            Ready::RegistersDoor => {
                if let Some((door, line)) = &mut self.registers {
                    *line = door.next();
                    self.bridge.forget();
                }
            }
            Ready::Registers => self.access(),
            Ready::Asked => {}
        }
        Ok(())
    }

    /// What was counted, as JSON.
    pub fn counted(&mut self) -> serde_json::Value {
        self.tally.lost = self.wire.lost;
        serde_json::to_value(&self.tally).unwrap_or_default()
    }

    fn wait(&self, most: Duration, asking: BorrowedFd<'_>) -> io::Result<Vec<Ready>> {
        let mut of: Vec<(Ready, BorrowedFd<'_>)> = vec![(Ready::Asked, asking)];
        match &self.connection {
            None => of.push((Ready::Machine, self.machines.listener.as_fd())),
            Some(connection) => of.push((Ready::Message, connection.as_fd())),
        }
        of.extend(self.session.kicks().map(|(ring, file)| (Ready::Kick(ring), file)));
        of.extend(self.wire.readable().filter(|_| self.card.can_receive()).map(|file| (Ready::Wire, file)));
        if let Some((door, line)) = &self.registers {
            of.push((Ready::RegistersDoor, door.listener.as_fd()));
            of.extend(line.iter().map(|line| (Ready::Registers, line.as_fd())));
        }
        let mut files: Vec<_> = of.iter().map(|(_, file)| PollFd::from_borrowed_fd(*file, PollFlags::IN)).collect();
        let most = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: i64::from(most.subsec_nanos()) };
        match poll(&mut files, Some(&most)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        let is_ready = |file: &PollFd<'_>| !file.revents().is_empty();
        Ok(files.iter().zip(&of).filter(|(file, _)| is_ready(file)).map(|(_, (ready, _))| *ready).collect())
    }

    fn pass_on(&mut self, outcome: Outcome) -> io::Result<()> {
        self.tally.damaged += outcome.damaged;
        for sent in &outcome.sent {
            self.tally.count(sent);
            self.wire.send(sent.at_ns, &sent.frame)?;
        }
        for &ring in &outcome.interrupts {
            signal(self.session.call(ring));
        }
        for (ring, why) in outcome.errors {
            eprintln!("penstock-host: ring {ring} stands still: {why}");
            signal(self.session.error(ring));
            self.tally.errors.push((ring, why));
        }
        Ok(())
    }

    fn greet(&mut self) -> io::Result<()> {
        if let Some(stream) = self.machines.next() {
            self.connection = Some(Connection::new(stream)?);
        }
        Ok(())
    }

    /// Does all that has come from the virtual machine; one that sends nonsense is let go, and another one may come.
    fn listen(&mut self) {
        while let Some(connection) = &mut self.connection {
            let (message, files) = match connection.receive() {
                Ok(Some(received)) => received,
                Ok(None) => return,
                Err(error) => {
                    eprintln!("penstock-host: the virtual machine is gone: {error}");
                    self.session.reset(&mut self.card);
                    self.connection = None;
                    return;
                }
            };
            let done = self.session.handle(&message, files, &mut self.card);
            if let Err(error) = &done {
                eprintln!("penstock-host: {error}");
            }
            let answer = match done {
                Ok(Some(answer)) => Some(message.reply(&answer)),
                other => message.needs_reply.then(|| message.reply(&u64::from(other.is_err()).to_le_bytes())),
            };
            if let Some(Err(error)) = answer.map(|answer| connection.send(&answer)) {
                eprintln!("penstock-host: the virtual machine does not listen: {error}");
            }
        }
    }

    fn kicked(&mut self, ring: usize) {
        let kick = self.session.kicks().find(|(number, _)| *number == ring);
        // The count does not matter, only that it is taken.
        let is_kicked = kick.is_some_and(|(_, file)| rustix::io::read(file, &mut [0; 8]).is_ok());
        if is_kicked {
            self.card.kick(ring);
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        let now_ns = self.begin.elapsed().as_nanos() as u64;
        for _ in 0..BURST {
            if !self.card.can_receive() {
                break;
            }
            let Some(frame) = self.wire.receive(now_ns)? else { break };
            self.tally.received += 1;
            self.card.receive(&frame);
        }
        Ok(())
    }

    fn access(&mut self) {
        let Some((_, Some(line))) = &mut self.registers else { return };
        let mut bytes = [0; 256];
        let count = line.read(&mut bytes).unwrap_or(0);
        let answers = self.bridge.take(&bytes[..count], &mut self.card);
        if count == 0 || line.write_all(&answers).is_err() {
            self.registers.iter_mut().for_each(|(_, line)| *line = None);
        }
    }
}

impl Host<Verilated> {
    /// Until the flag says stop, or nobody asks any more. Hardware goes on when it is asked to and as far as that, idle or
    /// not, but for the cycles that registers take; each line by `asking` is an [`Asked`] and has an answer.
    pub fn run_by_steps(&mut self, stop: &AtomicBool, asking: BorrowedFd<'_>, told: &mut impl Write) -> io::Result<()> {
        let mut unread = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            for ready in self.wait(LONGEST_WAIT, asking)? {
                if ready != Ready::Asked {
                    self.attend(ready)?;
                    continue;
                }
                let mut text = [0; 4096];
                let count = rustix::io::read(asking, &mut text)?;
                if count == 0 {
                    return Ok(());
                }
                unread.extend_from_slice(&text[..count]);
                while let Some(end) = unread.iter().position(|&byte| byte == b'\n') {
                    let line: Vec<u8> = unread.drain(..=end).collect();
                    let answer = self.answer(&String::from_utf8_lossy(&line[..end]))?;
                    writeln!(told, "{answer}")?;
                }
                told.flush()?;
            }
        }
        Ok(())
    }

    fn answer(&mut self, line: &str) -> io::Result<serde_json::Value> {
        match line.parse().map_err(io::Error::other)? {
            Asked::Counts => Ok(self.counted()),
            Asked::Run { until_ns } => {
                let mut outcome = Outcome::default();
                let is_idle = self.card.step(until_ns, &mut outcome);
                let step = Step::new(self.card.now_ns(), is_idle, &outcome.sent);
                self.pass_on(outcome)?;
                serde_json::to_value(step).map_err(io::Error::other)
            }
            Asked::Receive { at_ns, frame } => {
                self.card.receive_at(&frame, at_ns).map_err(io::Error::other)?;
                self.tally.received += 1;
                Ok(serde_json::Value::Null)
            }
        }
    }
}

/// Counts one up in a file of events; a virtual machine that is gone does not hear of it.
fn signal(file: Option<BorrowedFd<'_>>) {
    if let Some(file) = file {
        let _ = rustix::io::write(file, &1_u64.to_ne_bytes());
    }
}
