package tokenizer

// Piece returns the bytes that a token adds inside a text: a part of a character where the token is one, nothing for a
// special token or an id without a token.
func (t *Tokenizer) Piece(id int32) []byte {
	if !t.has(id) || t.special[id] {
		return nil
	}
	if b := t.decoding.bytes; b != nil && b[id] >= 0 {
		return []byte{byte(b[id])}
	}
	return []byte(t.decoding.texts[id])
}
