package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Token ids of the data set. A prompt begins with the model's first token and the number of its row.
const (
	bosID     = 128000
	rowID     = 100000 // the second id of row i is rowID+i
	fillerID  = 7
	answerID  = 1000 // the token j of row i is answerID+i*maxTokens+j
	maxTokens = 16   // that requests ask for
)

// promptIDs are the prompt of a row; neighbouring rows differ in length.
func promptIDs(row int) []int32 {
	ids := []int32{bosID, int32(rowID + row)}
	for range 1 + row%5 {
		ids = append(ids, fillerID)
	}
	return ids
}

// promptText returns the same prompt as text.
func promptText(row int) string { return fmt.Sprintf("Row %d of the set, please.", row) }

// filler returns n bytes that make a prompt large.
func filler(n int) string { return strings.Repeat(" x", n/2) }

// rowOfText returns the row of a text; -1: none.
func rowOfText(text string) int {
	var row int
	if _, err := fmt.Sscanf(text, "Row %d of the set", &row); err != nil || promptText(row) != text {
		return -1
	}
	return row
}

// rowOfIDs returns the row of a prompt; -1: none.
func rowOfIDs(ids []int32) int {
	if len(ids) < 3 || ids[0] != bosID || ids[1] < rowID {
		return -1
	}
	row := int(ids[1] - rowID)
	want := promptIDs(row)
	if len(want) != len(ids) {
		return -1
	}
	for i := range ids {
		if ids[i] != want[i] {
			return -1
		}
	}
	return row
}

// answerLength is the number of tokens of a row's genuine answer.
func (s *scenario) answerLength(row int) int {
	h := mix(s.Seed, 11, uint64(row))
	if s.OneToken > 0 && unit(mix(s.Seed, 12, uint64(row))) < s.OneToken {
		return 1
	}
	return 2 + int(h%(maxTokens-1))
}

// genuine is the answer to a row, limited to max tokens.
func (s *scenario) genuine(row, limit int) part {
	n := min(s.answerLength(row), limit)
	p := part{row: row, finish: "stop", said: n}
	if n == limit {
		p.finish = "length"
	}
	for j := range n {
		p.ids = append(p.ids, int32(answerID+row*maxTokens+j))
		p.texts = append(p.texts, " w"+strconv.Itoa(row)+"."+strconv.Itoa(j))
	}
	return p
}

// writeSet writes the data set of a scenario.
func (s *scenario) writeSet(path string) error {
	var b strings.Builder
	for row := range s.Rows {
		ids := strings.ReplaceAll(fmt.Sprint(promptIDs(row)), " ", ",")
		switch s.Protocol.Prompt {
		case "ids":
			fmt.Fprintf(&b, "{\"tok_input\":%s}\n", ids)
		case "both":
			fmt.Fprintf(&b, "{\"tok_input\":%s,\"input\":%q}\n", ids, promptText(row))
		default:
			fmt.Fprintf(&b, "{\"input\":%q}\n", promptText(row)+filler(s.Big))
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// mix returns a hash of numbers.
func mix(numbers ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, n := range numbers {
		h ^= n
		h ^= h >> 30
		h *= 0xbf58476d1ce4e5b9
		h ^= h >> 27
		h *= 0x94d049bb133111eb
		h ^= h >> 31
		h += 0x9e3779b97f4a7c15
	}
	return h
}

// unit maps a hash to [0, 1).
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }
