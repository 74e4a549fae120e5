// SPDX-License-Identifier: Apache-2.0
//! Headers of sound and pictures: RTP (RFC 3550), and AVTP's of streams (IEEE 1722-2016, clauses 4.4.4, 7 and 8).

/// The fixed header of RTP, without contributing sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtp {
    /// An extension follows.
    pub extension: bool,
    /// Of video: the last packet of a picture.
    pub marker: bool,
    pub payload_type: u8,
    pub sequence: u16,
    /// In ticks of the media clock.
    pub timestamp: u32,
    /// SSRC.
    pub source: u32,
}

impl Rtp {
    pub const BYTES: usize = 12;

    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = 0x80 | u8::from(self.extension) << 4; // version 2
        bytes[1] = u8::from(self.marker) << 7 | self.payload_type & 0x7F;
        bytes[2..4].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.timestamp.to_be_bytes());
        bytes[8..].copy_from_slice(&self.source.to_be_bytes());
        bytes
    }
}

/// What an AVTPDU carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AvtpFormat {
    /// AAF, PCM: whole samples of 16, 24 or 32 bits.
    Audio { sample_rate_hz: u32, channels: u16, bits: u8 },
    /// CVF, H.264. `dated`: the data begins with the 32 bits of a picture's own time stamp.
    Video { last_of_picture: bool, dated: bool },
}

/// The header of a stream's AVTPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avtp {
    /// The talker's MAC address and 16 bits that tell its streams apart.
    pub stream_id: u64,
    pub sequence: u8,
    /// When it is to be presented, in ns modulo 2^32.
    pub presentation_ns: u32,
    pub data_bytes: u16,
    pub format: AvtpFormat,
}

impl Avtp {
    pub const BYTES: usize = 24;

    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[1] = 0x81; // the stream id is valid (sv), version 0, the time stamp is valid (tv)
        bytes[2] = self.sequence;
        bytes[4..12].copy_from_slice(&self.stream_id.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.presentation_ns.to_be_bytes());
        bytes[20..22].copy_from_slice(&self.data_bytes.to_be_bytes());
        match self.format {
            AvtpFormat::Audio { sample_rate_hz, channels, bits } => {
                bytes[0] = 2;
                bytes[16] = match bits {
                    16 => 4,
                    24 => 3,
                    _ => 2,
                };
                bytes[17..19].copy_from_slice(&(nominal_rate(sample_rate_hz) << 12 | channels & 0x3FF).to_be_bytes());
                bytes[19] = bits;
            }
            AvtpFormat::Video { last_of_picture, dated } => {
                bytes[0] = 3;
                bytes[16..18].copy_from_slice(&[2, 1]); // as an RFC has it, H.264
                bytes[22] = u8::from(dated) << 5 | u8::from(last_of_picture) << 4;
            }
        }
        bytes
    }
}

/// Table 12 of IEEE 1722-2016; 0 is any other rate.
fn nominal_rate(hz: u32) -> u16 {
    match hz {
        8_000 => 1,
        16_000 => 2,
        32_000 => 3,
        44_100 => 4,
        48_000 => 5,
        88_200 => 6,
        96_000 => 7,
        176_400 => 8,
        192_000 => 9,
        24_000 => 10,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rtp_stands_bit_by_bit() {
        let header =
            Rtp { extension: false, marker: true, payload_type: 96, sequence: 0x1234, timestamp: 5, source: 6 };
        assert_eq!(header.encode(), [0x80, 0xE0, 0x12, 0x34, 0, 0, 0, 5, 0, 0, 0, 6]);
        assert_eq!(Rtp { extension: true, marker: false, ..header }.encode()[..2], [0x90, 96]);
    }

    #[test]
    fn avtp_of_sound_stands_bit_by_bit() {
        let format = AvtpFormat::Audio { sample_rate_hz: 48_000, channels: 2, bits: 24 };
        let header = Avtp {
            stream_id: 0x0200_0000_0001_0007,
            sequence: 255,
            presentation_ns: 2_000_000,
            data_bytes: 36,
            format,
        };
        let wanted = [2, 0x81, 255, 0, 2, 0, 0, 0, 0, 1, 0, 7, 0, 0x1E, 0x84, 0x80, 3, 0x50, 2, 24, 0, 36, 0, 0];
        assert_eq!(header.encode(), wanted);
        let other = AvtpFormat::Audio { sample_rate_hz: 44_101, channels: 1023, bits: 16 };
        assert_eq!(Avtp { format: other, ..header }.encode()[16..20], [4, 3, 0xFF, 16]);
    }

    #[test]
    fn avtp_of_pictures_stands_bit_by_bit() {
        let format = AvtpFormat::Video { last_of_picture: true, dated: true };
        let header = Avtp { stream_id: 1, sequence: 0, presentation_ns: 0, data_bytes: 1400, format };
        assert_eq!(header.encode()[16..], [2, 1, 0, 0, 5, 0x78, 0x30, 0]);
        assert_eq!(header.encode()[0], 3);
    }
}
