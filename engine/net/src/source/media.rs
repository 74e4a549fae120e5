// SPDX-License-Identifier: Apache-2.0
//! What stands before the sound or the pictures of a pattern's frames. Made only for frames that somebody looks at.
use penstock_frame::{Avtp, AvtpFormat, FrameSpec, MacAddress, Payload, Rtp};

use super::schedule::Pattern;
use super::SourceError;
use crate::describe::{AudioDescription, MediaDescription};
use penstock_shaper::Time;

/// IEEE 1722-2016, table 4: by when a frame of class A is there, which is when it is presented.
const MAX_TRANSIT_NS: Time = 2_000_000;
/// Of video (RFC 3551, RFC 6184).
const VIDEO_CLOCK_HZ: u64 = 90_000;
const PS_PER_S: u64 = 1_000_000_000_000;
/// Of the dynamic ones.
const VIDEO_TYPE: u8 = 96;
const AUDIO_TYPE: u8 = 97;

pub struct Media {
    audio: Option<AudioDescription>,
    stream_id: u64,
    /// Else AVTP.
    is_rtp: bool,
    header_bytes: u32,
    /// When the first frame is released.
    start_ps: Time,
    /// Behind the media's header, by frame of the pattern.
    payload_bytes: Vec<u32>,
}

impl Media {
    pub fn new(
        described: &MediaDescription,
        spec: &FrameSpec,
        pattern: &Pattern,
        start_ps: Time,
    ) -> Result<Self, SourceError> {
        if described.audio.is_some_and(|audio| !matches!(audio.bits, 16 | 24 | 32) || audio.sample_rate_millihertz == 0)
        {
            return Err(SourceError::Audio);
        }
        if !pattern.has_lists_like(&described.payload_bytes) {
            return Err(SourceError::Payloads);
        }
        let is_rtp = matches!(spec.payload, Payload::Ipv4Udp(_));
        let header_bytes = if is_rtp { Rtp::BYTES } else { Avtp::BYTES } as u32;
        let payload_bytes = described.payload_bytes.concat();
        for (&size, &payload) in pattern.sizes().iter().zip(&payload_bytes) {
            spec.check_content(size, header_bytes.saturating_add(payload))?;
        }
        let MacAddress([a, b, c, d, e, f]) = spec.source;
        let [high, low] = described.unique_id.to_be_bytes();
        let stream_id = u64::from_be_bytes([a, b, c, d, e, f, high, low]);
        Ok(Self { audio: described.audio, stream_id, is_rtp, header_bytes, start_ps, payload_bytes })
    }

    /// The content of a frame: how long it is, and how it begins.
    pub fn content(&self, number: u64, pattern: &Pattern) -> (u32, Vec<u8>) {
        let payload = self.payload_bytes[pattern.place(number)];
        let (picture, last_of_picture) = pattern.list(number);
        let released_ps = match &self.audio {
            Some(audio) => sample_time_ps(audio, self.samples_before(audio, number, pattern)),
            None => pattern.list_time(picture),
        };
        let mut lead = if self.is_rtp {
            let (payload_type, ticks) = match &self.audio {
                Some(audio) => (AUDIO_TYPE, self.samples_before(audio, number, pattern)),
                None => (VIDEO_TYPE, ticks(released_ps)),
            };
            let header = Rtp {
                extension: false,
                marker: self.audio.is_none() && last_of_picture,
                payload_type,
                sequence: number as u16,
                timestamp: ticks as u32,
                source: self.stream_id as u32,
            };
            header.encode().to_vec()
        } else {
            let dated = payload >= 4;
            let format = match &self.audio {
                Some(audio) => AvtpFormat::Audio {
                    sample_rate_hz: (audio.sample_rate_millihertz / 1_000) as u32,
                    channels: audio.channels,
                    bits: audio.bits,
                },
                None => AvtpFormat::Video { last_of_picture, dated },
            };
            let header = Avtp {
                stream_id: self.stream_id,
                sequence: number as u8,
                presentation_ns: (self.start_ps.saturating_add(released_ps) / 1_000 + MAX_TRANSIT_NS) as u32,
                data_bytes: payload as u16,
                format,
            };
            let mut lead = header.encode().to_vec();
            if self.audio.is_none() && dated {
                lead.extend_from_slice(&(ticks(released_ps) as u32).to_be_bytes());
            }
            lead
        };
        lead.extend_from_slice(&number.to_be_bytes()); // so that no two frames are equal
        (self.header_bytes + payload, lead)
    }

    /// Of each channel, in all frames before: as many as have passed by the media clock.
    fn samples_before(&self, audio: &AudioDescription, number: u64, pattern: &Pattern) -> u64 {
        let passed = u128::from(pattern.time(number)) * u128::from(audio.sample_rate_millihertz);
        (passed / (u128::from(PS_PER_S) * 1_000)) as u64
    }
}

fn sample_time_ps(audio: &AudioDescription, samples: u64) -> Time {
    (u128::from(samples) * u128::from(PS_PER_S) * 1_000 / u128::from(audio.sample_rate_millihertz)) as Time
}

/// Of the video clock, to the nearest: a picture's period is rounded down to whole picoseconds.
fn ticks(time_ps: Time) -> u64 {
    let scaled = u128::from(time_ps) * u128::from(VIDEO_CLOCK_HZ);
    ((scaled + u128::from(PS_PER_S / 2)) / u128::from(PS_PER_S)) as u64
}

#[cfg(test)]
mod tests {
    use crate::header::Headers;
    use crate::source::Generator;

    fn generator(payload: &str, source: &str, media: &str) -> Result<Generator, String> {
        let text = format!(
            r#"{{"name":"s","from":0,"to":[1],"frame":{{"destination_mac":"02:00:00:00:00:02",
            "source_mac":"02:00:00:00:00:01","payload":{payload},"media":{media}}},"source":{source}}}"#
        );
        Generator::new(&serde_json::from_str(&text).unwrap(), &mut Headers::default()).map_err(|e| e.to_string())
    }

    fn frame(generator: &Generator, number: u64, bytes: u16) -> Vec<u8> {
        let mut buffer = Vec::new();
        generator.fill(number, bytes, &mut buffer).unwrap();
        buffer
    }

    const AVTP: &str = r#"{"kind":"raw","ethertype":8944}"#;
    const UDP: &str = r#"{"kind":"ipv4_udp","source":"10.0.0.1","destination":"10.0.0.2","source_port":5004,
        "destination_port":5004}"#;
    /// 44.1 kHz in packets of 125 us: 5 or 6 samples, of which the first of 8 packets are here.
    const SOUND: &str = r#"{"kind":"pattern","period_ps":125000000,"start_ps":1000000000,
        "sizes":[[72],[78]]}"#;
    const FORM: &str = r#"{"unique_id":9,"payload_bytes":[[30],[36]],
        "audio":{"sample_rate_millihertz":44100000,"channels":2,"bits":24}}"#;
    /// Two pictures of 60 Hz, of three packets and of one.
    const PICTURES: &str = r#"{"kind":"pattern","period_ps":16666666666,"spread_ps":1000000,
        "sizes":[[242,242,64],[64]]}"#;
    const PACKETS: &str = r#"{"unique_id":9,"payload_bytes":[[200,200,3],[7]]}"#;

    #[test]
    fn sound_is_dated_by_its_first_sample() {
        let generator = generator(AVTP, SOUND, FORM).unwrap();
        let third = frame(&generator, 2, 72);
        assert_eq!(&third[12..18], &[0x22, 0xF0, 2, 0x81, 2, 0]);
        assert_eq!(&third[18..26], &[2, 0, 0, 0, 0, 1, 0, 9]);
        // 11 samples have passed in 250 us: 249.433 us; from 1 ms on, and 2 ms to travel.
        assert_eq!(third[26..30], 3_249_433_u32.to_be_bytes());
        assert_eq!(&third[30..38], &[3, 0x40, 2, 24, 0, 30, 0, 0]);
        // The clock goes on where 32 bits of ns end, and the number at 256.
        let later = frame(&generator, 40_000_000, 72);
        let samples = 40_000_000_u64 * 441 / 80;
        let due = 3_000_000 + (u128::from(samples) * 10_000_000 / 441) as u64;
        assert_eq!(later[26..30], (due as u32).to_be_bytes());
        assert_eq!(later[16], (40_000_000_u64 % 256) as u8);
    }

    #[test]
    fn packets_of_one_picture_are_presented_at_once() {
        let generator = generator(AVTP, PICTURES, PACKETS).unwrap();
        let dates: Vec<u32> = [242, 242, 64, 64, 242]
            .iter()
            .enumerate()
            .map(|(n, &bytes)| u32::from_be_bytes(frame(&generator, n as u64, bytes)[26..30].try_into().unwrap()))
            .collect();
        assert_eq!(dates, [2_000_000, 2_000_000, 2_000_000, 18_666_666, 35_333_333]);
        // Format, length, and: a picture's own stamp, its last packet.
        assert_eq!(&frame(&generator, 1, 242)[30..38], &[2, 1, 0, 0, 0, 200, 0x20, 0]);
        assert_eq!(&frame(&generator, 2, 64)[30..38], &[2, 1, 0, 0, 0, 3, 0x10, 0]);
        assert_eq!(&frame(&generator, 3, 64)[30..42], &[2, 1, 0, 0, 0, 7, 0x30, 0, 0, 0, 5, 0xDC]);
    }

    #[test]
    fn rtp_counts_by_the_media_clock() {
        let sound = generator(UDP, &SOUND.replace("72", "88").replace("78", "94"), FORM).unwrap();
        let third = frame(&sound, 2, 88);
        assert_eq!(&third[42..54], &[0x80, 97, 0, 2, 0, 0, 0, 11, 0, 1, 0, 9]);
        let pictures = generator(UDP, &PICTURES.replace("242", "258"), &PACKETS.replace("[7]", "[6]")).unwrap();
        let marks: Vec<u8> =
            [258, 258, 64, 64].iter().enumerate().map(|(n, &b)| frame(&pictures, n as u64, b)[43]).collect();
        assert_eq!(marks, [96, 96, 0x80 | 96, 0x80 | 96]);
        assert_eq!(&frame(&pictures, 3, 64)[44..50], &[0, 3, 0, 0, 0x05, 0xDC]);
        // A datagram ends where its content ends, though the frame is padded.
        assert_eq!(&frame(&pictures, 3, 64)[16..18], &[0, 28 + 12 + 6]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |payload: &str, source: &str, media: &str| generator(payload, source, media).err().unwrap();
        assert!(refused(AVTP, SOUND, PACKETS).contains("other lists"));
        let periodic = r#"{"kind":"periodic","frame_bytes":100,"period_ps":9}"#;
        assert!(refused(AVTP, periodic, PACKETS).contains("no pattern"));
        assert!(refused(AVTP, SOUND, &FORM.replace("\"bits\":24", "\"bits\":20")).contains("16, 24 or 32"));
        assert!(refused(AVTP, SOUND, &FORM.replace("[30]", "[31]")).contains("frame of 72 bytes: 73"));
        assert!(refused(UDP, SOUND, FORM).contains("frame of 72 bytes: 88"));
    }
}
