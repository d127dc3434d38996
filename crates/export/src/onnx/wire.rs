//! The wire format of protocol buffers, as much of it as a writer needs.

/// A message under construction: its fields, one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Message(Vec<u8>);

/// How a field lies in a message.
#[derive(Clone, Copy)]
enum Wire {
    /// Seven bits to a byte, the lowest first.
    Variable = 0,
    /// A length, then so many bytes.
    Length = 2,
    /// Four bytes.
    Fixed = 5,
}

impl Message {
    /// An integer or one of a few choices.
    pub(super) fn int(mut self, field: u64, value: i64) -> Self {
        self.key(field, Wire::Variable);
        self.variable(value.cast_unsigned());
        self
    }

    /// A number of 32 bits.
    pub(super) fn float(mut self, field: u64, value: f32) -> Self {
        self.key(field, Wire::Fixed);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Bytes or a text.
    pub(super) fn bytes(mut self, field: u64, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        self.key(field, Wire::Length);
        self.variable(value.len() as u64);
        self.0.extend(value);
        self
    }

    /// A message within.
    pub(super) fn message(self, field: u64, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }

    /// A field that repeats, one entry for each value.
    pub(super) fn each<T>(
        self,
        values: impl IntoIterator<Item = T>,
        add: impl Fn(Self, T) -> Self,
    ) -> Self {
        values.into_iter().fold(self, add)
    }

    /// The message as a file holds it.
    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }

    fn key(&mut self, field: u64, wire: Wire) {
        self.variable(field << 3 | wire as u64);
    }

    fn variable(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the page on encoding at protobuf.dev: 150 in field 1, "testing" in field 2, a message of the first in field 3.
    #[test]
    fn messages_are_those_of_the_documentation() {
        let first = Message::default().int(1, 150);
        assert_eq!(first.clone().finish(), [0x08, 0x96, 0x01]);
        let text = Message::default().bytes(2, "testing").finish();
        assert_eq!(text, [&[0x12, 0x07], b"testing" as &[u8]].concat());
        let outer = Message::default().message(3, &first).finish();
        assert_eq!(outer, [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let minus_two = Message::default().int(1, -2).finish();
        let all = [
            0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
        ];
        assert_eq!(minus_two, all);
    }

    #[test]
    fn fields_beyond_fifteen_have_keys_of_two_bytes() {
        let message = Message::default().int(20, 7).float(2, 1.0).finish();
        assert_eq!(message, [0xa0, 0x01, 0x07, 0x15, 0, 0, 0x80, 0x3f]);
        let each = Message::default().each([1, 2], |m, v| m.int(1, v)).finish();
        assert_eq!(each, [0x08, 0x01, 0x08, 0x02]);
    }
}
