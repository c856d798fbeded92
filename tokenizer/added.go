package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// matcher finds added tokens in a text. It returns the leftmost match and, of several tokens that start there, the
// longest.
type matcher struct {
	tokens []addedToken
	starts [256]bool       // whether a token starts with the byte
	edges  map[edge]int32  // trie: maps a node and a byte to the next node; the root is 0
	ends   map[int32]int32 // index in tokens of the token that ends at a node
}

type edge struct {
	node int32
	b    byte
}

// add makes the matcher find content as token. If content was added before, the earlier token stays.
func (m *matcher) add(content string, token addedToken) {
	if content == "" {
		return
	}
	if m.edges == nil {
		m.edges, m.ends = map[edge]int32{}, map[int32]int32{}
	}
	m.starts[content[0]] = true
	node := int32(0)
	for i := range len(content) {
		e := edge{node, content[i]}
		next, ok := m.edges[e]
		if !ok {
			next = int32(len(m.edges)) + 1
			m.edges[e] = next
		}
		node = next
	}
	if _, ok := m.ends[node]; !ok {
		m.ends[node] = int32(len(m.tokens))
		m.tokens = append(m.tokens, token)
	}
}

// next returns the first match at or after from, or nil.
func (m *matcher) next(text string, from int) (token *addedToken, start, end int) {
	for ; from < len(text); from++ {
		if token, end = m.at(text, from); token != nil {
			return token, from, end
		}
	}
	return nil, len(text), len(text)
}

// at returns the longest token that starts at from, and where it ends; nil if no token starts there.
func (m *matcher) at(text string, from int) (token *addedToken, end int) {
	if from == len(text) || !m.starts[text[from]] {
		return nil, 0
	}
	for node, at := int32(0), from; at < len(text); {
		next, ok := m.edges[edge{node, text[at]}]
		if !ok {
			break
		}
		node, at = next, at+1
		if i, ok := m.ends[node]; ok {
			token, end = &m.tokens[i], at
		}
	}
	return token, end
}

// split calls emit for each added token in text, and between for each stretch of text around the tokens, in order.
func (m *matcher) split(text string, between func(start, end int), emit func(id int32)) {
	done := 0
	for from := 0; len(m.tokens) > 0; {
		token, start, end := m.next(text, from)
		if token == nil {
			break
		}
		from = end
		if token.SingleWord && (wordBefore(text[:start]) || wordAfter(text[end:])) {
			continue
		}
		if token.LStrip {
			start = len(strings.TrimRightFunc(text[:start], unicode.IsSpace))
		}
		if token.RStrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
		}
		if done < start {
			between(done, start)
		}
		emit(token.ID)
		done = max(done, end)
	}
	if done < len(text) {
		between(done, len(text))
	}
}

func wordBefore(text string) bool {
	r, size := utf8.DecodeLastRuneInString(text)
	return size > 0 && isWord(r)
}

func wordAfter(text string) bool {
	r, size := utf8.DecodeRuneInString(text)
	return size > 0 && isWord(r)
}

// isWord reports whether r matches Unicode's \w.
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic,
		unicode.Join_Control)
}

// loadAdded prepares the search for added tokens; special tokens take precedence.
func (t *Tokenizer) loadAdded(doc *document) error {
	for _, special := range []bool{true, false} {
		for _, a := range doc.AddedTokens {
			switch {
			case a.Special != special:
			case len(a.Content) > mostAddedBytes:
				return broken("added_tokens", "%s has more than %d bytes", shown(a.Content), mostAddedBytes)
			case a.Normalized:
				t.canonical.add(t.normalized(a.Content), a)
			default:
				t.verbatim.add(a.Content, a)
			}
		}
	}
	return nil
}
