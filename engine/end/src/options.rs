// SPDX-License-Identifier: Apache-2.0
//! The command line: a plan from a file, or one stream from options; options also change what a plan says.
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::plan::{self, Audio, LateAction, Mode, Plan, Pmc, Receive, Send, StampChoice, Stream};
use crate::rtp;
use penstock_frame::MacAddress;

const DEFAULT_BYTES: u32 = 128;

/// End station for time-sensitive networks: sends frames at their times, listens, measures.
#[derive(Debug, Parser)]
#[command(name = "penstock-end", version)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Send the frames of a plan or of one stream.
    Talk(Common),
    /// Receive them, measure, and count what else comes.
    Listen(Common),
    /// Keep a host the node of a torus that it was made: put back what interfaces lose that go down.
    Watch {
        /// What the node has: what `penstock torus show --json` prints.
        #[arg(long, value_name = "FILE")]
        plan: PathBuf,
    },
}

/// All times with a unit: 500ns, 24us, 1ms, 2s.
#[derive(Debug, Args)]
pub struct Common {
    /// The plan; without it, the options are one stream.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Where the table and the summary go.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// Print the summary as one JSON object.
    #[arg(long)]
    pub json: bool,
    /// The interface; the plan's if not given.
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    #[command(flatten)]
    stream: StreamOptions,
    #[command(flatten)]
    how: HowOptions,
    #[command(flatten)]
    listen: ListenOptions,
}

/// The stream, without a plan.
#[derive(Debug, Args)]
#[command(next_help_heading = "One stream, without a plan")]
struct StreamOptions {
    #[arg(long, value_enum, default_value = "raw")]
    mode: ModeOption,
    /// Ethernet address of a raw stream, IPv4 address of one by UDP.
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
    #[arg(long, default_value_t = 5000)]
    port: u16,
    #[arg(long)]
    vlan: Option<u16>,
    #[arg(long, default_value_t = 0)]
    pcp: u8,
    /// SO_PRIORITY; the PCP if not given.
    #[arg(long)]
    priority: Option<u32>,
    /// From destination address to FCS.
    #[arg(long, default_value_t = DEFAULT_BYTES)]
    bytes: u32,
    #[arg(long, value_parser = time_ns, default_value = "1ms")]
    every: u64,
    #[arg(long)]
    count: Option<u64>,
    #[arg(long, value_parser = time_ns, default_value = "0ns")]
    offset: u64,
    #[arg(long, value_parser = time_ns)]
    window: Option<u64>,
    /// Sound of this file as RTP, a packet in each period.
    #[arg(long, value_name = "FILE")]
    wav: Option<PathBuf>,
    /// A tone instead, two channels with 48 kHz.
    #[arg(long, value_name = "HZ", conflicts_with = "wav")]
    tone: Option<u32>,
    /// The frames of a capture, as they are, at their times.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["wav", "tone", "to"])]
    capture: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeOption {
    Raw,
    Udp,
}

/// How frames are sent and time is kept; each changes what the plan says.
#[derive(Debug, Args)]
#[command(next_help_heading = "How")]
struct HowOptions {
    /// For how long is sent, or listened.
    #[arg(long, value_parser = time_ns)]
    duration: Option<u64>,
    /// When the first cycle begins: ns of CLOCK_TAI; one in the past is moved on by whole cycles.
    #[arg(long, value_name = "NS")]
    base_time: Option<u64>,
    /// Give the kernel each frame's launch time (SO_TXTIME), for etf or taprio with txtime-assist.
    #[arg(long)]
    launch_time: bool,
    /// The launch time is a deadline: the frame may leave earlier (etf deadline_mode).
    #[arg(long)]
    deadline_mode: bool,
    /// So long before its due time a frame is built and handed to the kernel.
    #[arg(long, value_parser = time_ns)]
    transmit_offset: Option<u64>,
    /// What counts as late, and fails; without it what is later than 100us is counted only.
    #[arg(long, value_parser = time_ns)]
    late_tolerance: Option<u64>,
    /// Do not send a frame whose window, or tolerance, is over.
    #[arg(long)]
    drop_late: bool,
    /// SCHED_FIFO with this priority.
    #[arg(long, value_name = "PRIORITY")]
    fifo: Option<u32>,
    #[arg(long)]
    cpu: Option<usize>,
    #[arg(long)]
    lock_memory: bool,
    /// Go on where the kernel refuses what makes the program be on time.
    #[arg(long)]
    best_effort: bool,
    /// Ask the interface for hardware time stamps.
    #[arg(long)]
    hardware_stamps: bool,
    /// Ask ptp4l for synchronization, by this command.
    #[arg(long, value_name = "COMMAND", num_args = 0..=1, default_missing_value = "pmc -u -b 0")]
    pmc: Option<String>,
    /// Largest offset that is still synchronized.
    #[arg(long, value_parser = time_ns, value_name = "TIME")]
    pmc_threshold: Option<u64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Listening")]
struct ListenOptions {
    /// By a packet socket, or by UDP sockets, which need no root.
    #[arg(long, value_enum)]
    receive: Option<ReceiveOption>,
    #[arg(long, value_enum)]
    stamp: Option<StampOption>,
    /// Leave the first frames of each stream out of the statistics.
    #[arg(long, value_name = "FRAMES")]
    warmup: Option<u32>,
    /// End when nothing came for so long from the start.
    #[arg(long, value_parser = time_ns)]
    wait: Option<u64>,
    /// End when nothing more came for so long.
    #[arg(long, value_parser = time_ns)]
    idle: Option<u64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ReceiveOption {
    Packet,
    Udp,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StampOption {
    Auto,
    Hardware,
    Kernel,
    User,
}

impl StreamOptions {
    /// The sound that is asked for.
    fn audio(&self) -> Result<Option<Audio>, String> {
        if let Some(file) = &self.wav {
            return rtp::audio_of(file).map(Some).map_err(|error| format!("--wav: {}: {error}", file.display()));
        }
        Ok(self.tone.map(|tone_hz| Audio { wav: None, tone_hz, sample_rate: 48_000, channels: 2 }))
    }
}

/// A whole number of nanoseconds from a number with a unit.
fn time_ns(text: &str) -> Result<u64, String> {
    let fault = || format!("\"{text}\" is no time; allowed: a whole number and ns, us, ms or s, as 24us");
    let end = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(fault)?;
    let factor = match &text[end..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(fault()),
    };
    text[..end].parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).filter(|&n| n < 1 << 62).ok_or_else(fault)
}

impl Common {
    /// The plan that comes of file and options; every fault of it, a line each.
    pub fn plan(&self, listening: bool) -> Result<Plan, Vec<String>> {
        let (mut plan, file) = match &self.plan {
            Some(file) => {
                let name = file.display().to_string();
                let text =
                    fs::read_to_string(file).map_err(|error| vec![format!("{name}: cannot be read: {error}")])?;
                let plan = serde_json::from_str::<Plan>(&text).map_err(|error| vec![format!("{name}: {error}")])?;
                (plan, name)
            }
            None => (self.one_stream()?, "options".to_owned()),
        };
        self.change(&mut plan, listening);
        let faults = plan::check(&plan);
        if faults.is_empty() {
            return Ok(plan);
        }
        Err(faults.iter().map(|f| format!("{file}: {}: {}; allowed: {}", f.key, f.what, f.allowed)).collect())
    }

    fn one_stream(&self) -> Result<Plan, Vec<String>> {
        let given = &self.stream;
        let mut faults = Vec::new();
        if self.interface.is_none() {
            faults.push("--interface: is missing; allowed: the name of one, or --plan FILE".to_owned());
        }
        let mut stream = serde_json::json!({
            "name": "stream", "id": 1, "bytes": given.bytes, "pcp": given.pcp, "vlan": given.vlan, "priority": given.priority,
            "count": given.count, "offset_ns": given.offset, "window_ns": given.window,
        });
        let to = given.to.as_deref().unwrap_or_default();
        match given.mode {
            ModeOption::Raw if given.capture.is_some() => {}
            ModeOption::Raw => match to.parse::<MacAddress>() {
                Ok(_) => stream["destination_mac"] = to.into(),
                Err(error) => faults.push(format!("--to: {error}")),
            },
            ModeOption::Udp => match to.parse::<Ipv4Addr>() {
                Ok(_) => stream["destination"] = to.into(),
                Err(_) => faults.push(format!("--to: \"{to}\" is no IPv4 address; allowed: as 192.0.2.1")),
            },
        }
        let udp = matches!(given.mode, ModeOption::Udp);
        stream["mode"] = if udp { "udp" } else { "raw" }.into();
        if udp {
            stream["destination_port"] = given.port.into();
        }
        let audio = given.audio().unwrap_or_else(|fault| {
            faults.push(fault);
            None
        });
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut stream: Stream = serde_json::from_value(stream).map_err(|error| vec![format!("options: {error}")])?;
        if let Some(payload) = audio.as_ref().and_then(|audio| audio.packet_bytes(given.every)) {
            stream.bytes = (stream.overhead_bytes() + payload) as u32;
        }
        stream.audio = audio;
        stream.capture.clone_from(&given.capture);
        debug_assert!(matches!((stream.mode, udp), (Mode::Udp, true) | (Mode::Raw, false)));
        let interface = self.interface.clone().unwrap_or_default();
        let plan = serde_json::json!({"version": plan::VERSION, "interface": interface, "cycle_ns": given.every, "streams": [stream]});
        serde_json::from_value(plan).map_err(|error| vec![format!("options: {error}")])
    }

    fn change(&self, plan: &mut Plan, listening: bool) {
        let (how, listen) = (&self.how, &self.listen);
        set(&mut plan.interface, &self.interface);
        let duration = if listening { &mut plan.listen.duration_ns } else { &mut plan.duration_ns };
        *duration = how.duration.or(*duration);
        plan.base_time_tai_ns = how.base_time.or(plan.base_time_tai_ns);
        if how.launch_time {
            plan.send = Send::LaunchTime;
        }
        plan.launch.deadline_mode |= how.deadline_mode;
        set(&mut plan.transmit_offset_ns, &how.transmit_offset);
        set(&mut plan.late.tolerance_ns, &how.late_tolerance);
        plan.late.required |= how.late_tolerance.is_some();
        if how.drop_late {
            plan.late.action = LateAction::Drop;
        }
        plan.realtime.fifo_priority = how.fifo.or(plan.realtime.fifo_priority);
        plan.realtime.cpu = how.cpu.or(plan.realtime.cpu);
        plan.realtime.lock_memory |= how.lock_memory;
        plan.realtime.required &= !how.best_effort;
        plan.hardware_stamps |= how.hardware_stamps;
        if let Some(command) = &how.pmc {
            let command = command.split_whitespace().map(str::to_owned).collect();
            plan.clock.pmc = Some(Pmc { command, ..plan.clock.pmc.take().unwrap_or_default() });
        }
        if let (Some(pmc), Some(threshold)) = (&mut plan.clock.pmc, how.pmc_threshold) {
            pmc.threshold_ns = threshold;
        }
        set(
            &mut plan.listen.receive,
            &listen.receive.map(|receive| match receive {
                ReceiveOption::Packet => Receive::Packet,
                ReceiveOption::Udp => Receive::Udp,
            }),
        );
        set(
            &mut plan.listen.stamp,
            &listen.stamp.map(|stamp| match stamp {
                StampOption::Auto => StampChoice::Auto,
                StampOption::Hardware => StampChoice::Hardware,
                StampOption::Kernel => StampChoice::Kernel,
                StampOption::User => StampChoice::User,
            }),
        );
        set(&mut plan.listen.warmup_frames, &listen.warmup);
        set(&mut plan.listen.wait_ns, &listen.wait);
        set(&mut plan.listen.idle_ns, &listen.idle);
    }
}

fn set<T: Clone>(value: &mut T, given: &Option<T>) {
    if let Some(given) = given {
        value.clone_from(given);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_of(line: &str) -> Result<Plan, Vec<String>> {
        let words = std::iter::once("penstock-end").chain(line.split_whitespace());
        let (Command::Talk(common) | Command::Listen(common)) = Options::try_parse_from(words).unwrap().command else {
            panic!("{line} has no stream")
        };
        common.plan(false)
    }

    #[test]
    fn times_have_units() {
        assert_eq!(["7ns", "24us", "1ms", "2s"].map(|t| time_ns(t).unwrap()), [7, 24_000, 1_000_000, 2_000_000_000]);
        assert!(["", "5", "1.5us", "-1us", "1 h", "99999999999s"].iter().all(|t| time_ns(t).is_err()));
    }

    #[test]
    fn options_are_a_plan_of_one_stream() {
        let line = "talk --interface veth0 --to 02:00:00:00:00:02 --vlan 10 --pcp 3 --bytes 200 --every 2ms --count 9 --launch-time --fifo 80 --pmc";
        let plan = plan_of(line).unwrap();
        assert_eq!((plan.cycle_ns, plan.send, plan.realtime.fifo_priority), (2_000_000, Send::LaunchTime, Some(80)));
        let stream = &plan.streams[0];
        assert_eq!((stream.mode, stream.vlan, stream.pcp, stream.count), (Mode::Raw, Some(10), 3, Some(9)));
        assert_eq!(plan.clock.pmc.unwrap().command, ["pmc", "-u", "-b", "0"]);
    }

    #[test]
    fn sound_makes_the_length() {
        let plan = plan_of("talk --interface x --mode udp --to 192.0.2.2 --tone 440 --every 125us").unwrap();
        // 6 samples of two channels, the RTP header with its extension, and the headers around.
        assert_eq!(plan.streams[0].bytes, 36 + 60 + 28 + 18);
        let fault = plan_of("talk --interface x --mode udp --to 192.0.2.2 --wav /nowhere.wav").unwrap_err();
        assert!(fault[0].contains("/nowhere.wav: cannot be read"), "{fault:?}");
        assert!(plan_of("talk --interface x --capture some.pcap").is_ok());
    }

    #[test]
    fn all_faults_are_told_at_once() {
        let faults = plan_of("talk --to 02:00:00:00:00").unwrap_err();
        assert_eq!(faults.len(), 2, "{faults:?}");
        let faults = plan_of("talk --interface x --to 02:00:00:00:00:01 --bytes 40 --pcp 9 --vlan 5000 --every 0ns --base-time 18446744073709551615")
            .unwrap_err();
        for key in ["bytes", "pcp", "vlan", "cycle_ns", "base_time_tai_ns"] {
            assert!(faults.iter().any(|fault| fault.contains(key)), "{key} {faults:?}");
        }
    }
}
