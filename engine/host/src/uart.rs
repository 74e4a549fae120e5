// SPDX-License-Identifier: Apache-2.0
//! Registers over a line of bytes, as `pen_uart_axi` serves them on a board: a request is one access, and so is its answer.
use crate::card::Card;

const READ: u8 = b'R';
const WRITE: u8 = b'W';
const DONE: u8 = b'K';
const REFUSED: u8 = b'E';
const DAMAGED: u8 = b'C';
const READ_BYTES: usize = 4;
const WRITE_BYTES: usize = 8;

/// CRC-8 with polynomial 07 from 00.
pub fn check(bytes: &[u8]) -> u8 {
    let bit = |value: u8, _| if value & 0x80 == 0 { value << 1 } else { value << 1 ^ 7 };
    bytes.iter().fold(0, |value, byte| (0..8).fold(value ^ byte, bit))
}

/// What has come of the next request.
#[derive(Debug, Default)]
pub struct Bridge {
    unread: Vec<u8>,
}

impl Bridge {
    /// Takes bytes of the line, and gives the answers to the requests that are whole. Bytes that begin none are passed over.
    pub fn take(&mut self, bytes: &[u8], card: &mut dyn Card) -> Vec<u8> {
        self.unread.extend_from_slice(bytes);
        let mut answers = Vec::new();
        loop {
            let begin = self.unread.iter().position(|&byte| byte == READ || byte == WRITE);
            self.unread.drain(..begin.unwrap_or(self.unread.len()));
            let length = match self.unread.first() {
                None => return answers,
                Some(&READ) => READ_BYTES,
                Some(_) => WRITE_BYTES,
            };
            if self.unread.len() < length {
                return answers;
            }
            let request: Vec<u8> = self.unread.drain(..length).collect();
            answers.extend(answer(&request, card));
        }
    }

    /// The other side is another one: half a request of the last one is forgotten.
    pub fn forget(&mut self) {
        self.unread.clear();
    }
}

fn answer(request: &[u8], card: &mut dyn Card) -> [u8; 6] {
    let (body, sum) = request.split_at(request.len() - 1);
    let (status, value) = if check(body) != sum[0] { (DAMAGED, 0) } else { access(body, card) };
    let [a, b, c, d] = value.to_le_bytes();
    let told = [status, a, b, c, d];
    [status, a, b, c, d, check(&told)]
}

fn access(body: &[u8], card: &mut dyn Card) -> (u8, u32) {
    let address = u16::from_le_bytes([body[1], body[2]]);
    let done = match body.get(3..7) {
        Some(&[a, b, c, d]) => card.write(address, u32::from_le_bytes([a, b, c, d])).map(|()| 0),
        _ => card.read(address),
    };
    done.map_or((REFUSED, 0), |value| (DONE, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;

    fn request(body: &[u8]) -> Vec<u8> {
        [body, &[check(body)]].concat()
    }

    #[test]
    fn accesses_are_answered_one_by_one() {
        let (mut bridge, mut card) = (Bridge::default(), Model::new(4, 1_000_000_000));
        let told = bridge.take(&request(b"R\x0c\0"), &mut card);
        assert_eq!(told[..5], [b'K', 4, 0, 0, 0]);
        assert_eq!(check(&told[..5]), told[5]);
        let set = request(b"W\x40\x00\x03\0\0\0");
        let read = request(b"R\x40\0");
        let told = bridge.take(&[b"noise", &set[..3]].concat(), &mut card);
        assert!(told.is_empty(), "half a request has no answer");
        let told = bridge.take(&[&set[3..], &read].concat(), &mut card);
        assert_eq!((told[0], &told[6..11]), (b'K', &[b'K', 3, 0, 0, 0][..]));
    }

    #[test]
    fn what_is_wrong_has_no_effect() {
        let (mut bridge, mut card) = (Bridge::default(), Model::new(4, 1_000_000_000));
        let mut set = request(b"W\x40\x00\x03\0\0\0");
        set[3] ^= 1;
        assert_eq!(bridge.take(&set, &mut card)[0], b'C');
        assert_eq!(card.read(0x40).unwrap(), 0);
        assert_eq!(bridge.take(&request(b"R\xfc\xff"), &mut card)[0], b'E');
        assert_eq!(bridge.take(&request(b"W\x00\x00\x01\0\0\0"), &mut card)[0], b'E', "id is only read");
    }
}
