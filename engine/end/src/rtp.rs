// SPDX-License-Identifier: Apache-2.0
//! Sound as RTP (RFC 3550) with 24 bits a sample (RFC 3190). The measuring header is an extension of RTP's, which a
//! receiver that does not know it leaves out.
//!
//! ```text
//!  0  version 2, extension, no contributing sources; payload type 97
//!  2  sequence number   u16
//!  4  timestamp         u32, in samples
//!  8  source            u32: run and stream of the measuring header
//! 12  extension         "PK", and its length in words of 32 bits
//! 16  measuring header  42 bytes, and 2 of padding
//! 60  samples           channel by channel, 24 bits each
//! ```
use std::f64::consts::TAU;
use std::path::Path;

use hound::{SampleFormat, WavReader};
use penstock_frame::Rtp;
use thiserror::Error;

use crate::header::{Header, HeaderError, HEADER_BYTES};
use crate::plan::Audio;

/// Of one channel.
pub const SAMPLE_BYTES: usize = 3;
/// What stands before the samples.
pub const AROUND_BYTES: usize = HEADER_AT + EXTENSION_WORDS * 4;
const HEADER_AT: usize = 16;
const EXTENSION_WORDS: usize = HEADER_BYTES.div_ceil(4);
const FIRST: u8 = 0x90; // of an RTP header with an extension
const PAYLOAD_TYPE: u8 = 97; // of the dynamic ones
const PROFILE: [u8; 2] = *b"PK";
/// -12 dB of full scale.
const TONE_PEAK: f64 = 0.25 * 8_388_607.0;

/// Why there is no sound.
#[derive(Debug, Error)]
pub enum SoundError {
    #[error("cannot be read: {0}")]
    Read(#[from] hound::Error),
    #[error("has {rate} Hz and {channels} channels, the plan {wanted_rate} Hz and {wanted_channels}")]
    Form { rate: u32, channels: u16, wanted_rate: u32, wanted_channels: u16 },
    #[error("has no sound")]
    Empty,
}

/// The measuring header of a payload: at its begin, or in the extension of RTP.
pub fn find_header(payload: &[u8]) -> Result<Header, HeaderError> {
    let extended = payload.first() == Some(&FIRST) && payload.get(12..14) == Some(&PROFILE);
    Header::decode(if extended { payload.get(HEADER_AT..).unwrap_or_default() } else { payload })
}

/// Writes what stands before the samples of a packet.
pub fn write_around(packet: &mut [u8], header: &Header, samples: u64) {
    let source = (u32::from(header.run) << 16) | u32::from(header.stream);
    let timestamp = (u64::from(header.sequence) * samples) as u32;
    let rtp = Rtp {
        extension: true,
        marker: false,
        payload_type: PAYLOAD_TYPE,
        sequence: header.sequence as u16,
        timestamp,
        source,
    };
    packet[..Rtp::BYTES].copy_from_slice(&rtp.encode());
    packet[12..14].copy_from_slice(&PROFILE);
    packet[14..16].copy_from_slice(&(EXTENSION_WORDS as u16).to_be_bytes());
    packet[HEADER_AT..HEADER_AT + HEADER_BYTES].copy_from_slice(&header.encode());
}

/// A WAV file with the form that it says it has.
pub fn audio_of(file: &Path) -> Result<Audio, SoundError> {
    let form = WavReader::open(file)?.spec();
    Ok(Audio { wav: Some(file.to_owned()), tone_hz: 0, sample_rate: form.sample_rate, channels: form.channels })
}

/// Sound that has no end, as it stands in packets.
#[derive(Debug)]
pub struct Sound {
    bytes: Vec<u8>,
    at: usize,
}

impl Sound {
    /// Reads the file, or makes the tone.
    pub fn new(audio: &Audio) -> Result<Sound, SoundError> {
        let bytes = match &audio.wav {
            Some(file) => read(file, audio)?,
            None => tone(audio),
        };
        if bytes.is_empty() {
            return Err(SoundError::Empty);
        }
        Ok(Sound { bytes, at: 0 })
    }

    /// The next samples; after the last the first again.
    pub fn fill(&mut self, room: &mut [u8]) {
        for byte in room {
            *byte = self.bytes[self.at];
            self.at = (self.at + 1) % self.bytes.len();
        }
    }
}

fn read(file: &Path, audio: &Audio) -> Result<Vec<u8>, SoundError> {
    let mut reader = WavReader::open(file)?;
    let form = reader.spec();
    if (form.sample_rate, form.channels) != (audio.sample_rate, audio.channels) {
        let (rate, channels) = (form.sample_rate, form.channels);
        let (wanted_rate, wanted_channels) = (audio.sample_rate, audio.channels);
        return Err(SoundError::Form { rate, channels, wanted_rate, wanted_channels });
    }
    let mut bytes = Vec::new();
    match form.sample_format {
        SampleFormat::Int => {
            let shift = 24 - i32::from(form.bits_per_sample);
            for sample in reader.samples::<i32>() {
                let sample = sample?;
                push(&mut bytes, if shift >= 0 { sample << shift } else { sample >> -shift });
            }
        }
        SampleFormat::Float => {
            for sample in reader.samples::<f32>() {
                push(&mut bytes, (f64::from(sample?).clamp(-1.0, 1.0) * 8_388_607.0) as i32);
            }
        }
    }
    Ok(bytes)
}

/// A second of it, so that any whole number of Hz goes on without a step.
fn tone(audio: &Audio) -> Vec<u8> {
    let mut bytes = Vec::new();
    for n in 0..audio.sample_rate {
        let turn = f64::from(n) * f64::from(audio.tone_hz) / f64::from(audio.sample_rate);
        let sample = (TONE_PEAK * (TAU * turn).sin()) as i32;
        (0..audio.channels).for_each(|_| push(&mut bytes, sample));
    }
    bytes
}

fn push(bytes: &mut Vec<u8>, sample: i32) {
    bytes.extend(&sample.to_be_bytes()[1..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audio() -> Audio {
        Audio { wav: None, tone_hz: 12_000, sample_rate: 48_000, channels: 2 }
    }

    #[test]
    fn a_packet_is_rtp_with_the_header_as_extension() {
        let header =
            Header { flags: 0, stream: 5, run: 9, sequence: 70_000, construction_tai_ns: 1, due_tai_ns: 2, clock: 3 };
        let mut packet = vec![0; AROUND_BYTES + 6];
        write_around(&mut packet, &header, 48);
        // 70000 modulo 2^16 is 4464; 70000 * 48 is 3360000.
        let wanted = [0x90, 97, 0x11, 0x70, 0, 0x33, 0x45, 0, 0, 9, 0, 5, b'P', b'K', 0, 11];
        assert_eq!((&packet[..16], AROUND_BYTES), (&wanted[..], 60));
        assert_eq!(find_header(&packet), Ok(header));
        assert_eq!(find_header(&header.encode()), Ok(header));
        packet[0] = 0x80;
        assert_eq!(find_header(&packet), Err(HeaderError::NotOurs));
        assert_eq!(find_header(&[0x90, 0]), Err(HeaderError::NotOurs));
    }

    #[test]
    fn a_tone_has_no_end() {
        let mut sound = Sound::new(&audio()).unwrap();
        let mut room = [0; 2 * SAMPLE_BYTES * 4];
        sound.fill(&mut room);
        let sample = |n: usize| i32::from_be_bytes([room[n * 6], room[n * 6 + 1], room[n * 6 + 2], 0]) >> 8;
        assert_eq!([sample(0), sample(2)].map(|s| s.abs() < 2), [true; 2]);
        assert_eq!((sample(1), sample(3)), (2_097_151, -2_097_151));
        let mut later = vec![0; 48_000 * 6];
        sound.fill(&mut later);
        assert_eq!(later[48_000 * 6 - 24..], room);
    }

    #[test]
    fn samples_have_to_be_whole() {
        assert_eq!(audio().samples_in(1_000_000), Some(48));
        assert_eq!(audio().packet_bytes(125_000), Some(60 + 36));
        assert_eq!(Audio { sample_rate: 44_100, ..audio() }.samples_in(1_000_000), None);
    }

    #[test]
    fn a_file_is_played_with_24_bits() {
        let file = std::env::temp_dir().join(format!("penstock-end-{}.wav", std::process::id()));
        let spec =
            hound::WavSpec { channels: 2, sample_rate: 48_000, bits_per_sample: 16, sample_format: SampleFormat::Int };
        let mut writer = hound::WavWriter::create(&file, spec).unwrap();
        [1_i16, -2, 0x1234].into_iter().chain([0]).for_each(|sample| writer.write_sample(sample).unwrap());
        writer.finalize().unwrap();
        let played = audio_of(&file).unwrap();
        assert_eq!((played.sample_rate, played.channels), (48_000, 2));
        let mut room = [0; 15];
        Sound::new(&played).unwrap().fill(&mut room);
        assert_eq!(room, [0, 1, 0, 0xFF, 0xFE, 0, 0x12, 0x34, 0, 0, 0, 0, 0, 1, 0]);
        let other = Sound::new(&Audio { channels: 1, ..played.clone() }).unwrap_err().to_string();
        std::fs::remove_file(&file).unwrap();
        assert!(other.contains("48000 Hz and 2 channels"), "{other}");
        assert!(matches!(Sound::new(&played), Err(SoundError::Read(_))));
    }
}
