package accuracy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The expected sentences of random words come from NLTK 3.8.1 with the same few parameters, which affect more words
// than the English ones.
func TestSentencesOfRandomWords(t *testing.T) {
	p := newPunkt()
	for _, word := range []string{"dr", "e.g", "no", "u.s"} {
		p.abbreviations[word] = true
	}
	p.collocations[[2]string{numberKind, "street"}], p.collocations[[2]string{"j", "smith"}] = true, true
	p.starters["however"], p.starters["the"] = true, true
	for word, seen := range map[string]orthoFlags{"he": anyUpper | anyLower, "street": anyLower, "smith": anyUpper,
		"however": anyUpper&^midUpper | anyLower, "the": 2 | 64, "john": 8, "cat": anyLower, "dog": midUpper | 64,
		"end": beginLower} {
		p.ortho[word] = seen
	}
	for text, want := range map[string]string{ // sentences with | between them
		`b EndNo.`: `b EndNo.`, "J. word. 1.5.\nHowever": `J. word.|1.5.|However`, `3.5  no.`: `3.5  no.`,
		"?!  No.\n": `?|!|No.`, `b "He`: `b "He`, "b x.\nEnd however": `b x.|End however`,
		"...He smith  he\nj.\n": "...He smith  he\nj.", "?!Street word.\n": `?|!Street word.`,
		"street J.\na.b. x.": "street J.\na.b.|x.", "However  :\n3.5 1,000.\n": "However  :\n3.5 1,000.",
		`Dog The --`: `Dog The --`, `x. ?`: `x. ?`, "é.  smith\nno.": "é.  smith\nno.",
		`5. end.) he  5.`: `5.|end.)|he  5.`, "no.\nx. Catdog\n": "no.\nx. Catdog", `word.  no. b`: `word.|no. b`,
		`--no. é.`: `--no. é.`, ",\n:  smith": ",\n:  smith", `-5.dog b`: `-5.dog b`, "He\nj.  No.": "He\nj.  No.",
		`A.The  End`: `A.The  End`, "He  End\n": `He  End`, "-5. end!)  ?)\n": `-5.|end!)|?)`,
		`a.b.  dog-5.`: `a.b.|dog-5.`, `he Street`: `he Street`, `; Dr.`: `; Dr.`,
		`Street smith he  !`: `Street smith he  !`, "x. b --\nb\n": "x. b --\nb",
		":No.  5th.(end.)\n": `:No.|5th.(end.)`, `End  End ...`: `End  End ...`, `No. no. 12.`: `No. no. 12.`,
		"Cat\nNo.": "Cat\nNo.", `x. !`: `x. !`, `(He no. (He`: `(He no. (He`, "\"He dog\n": `"He dog`,
		`... j.  1,000.`: `... j.|1,000.`, `John he 'end.'`: `John he 'end.'`,
		"the  ...heHe\ndr.": "the  ...heHe\ndr.", "Dog --\n1.5. end.)\n": "Dog --\n1.5.|end.)", `, -- ?`: `, -- ?`,
		"dog !\n": `dog !`, "Cathowever\n(end.) (end.)": "Cathowever\n(end.)|(end.)",
		"'end.' street\n..": "'end.'|street\n..", `dr. end.” ... street`: `dr. end.” ... street`,
		`dog  (end.)dog U.S.`: `dog  (end.|)dog U.S.`, `however  street`: `however  street`,
		"...\n5th.\n": "...\n5th.", `...dog`: `...dog`, `...hej.`: `...hej.`, `end.) ... 3.5Cat`: `end.)|... 3.5Cat`,
		`End  Endb é.`: `End  Endb é.`, "A. he\n": `A. he`, "(end.)he\nend!)\n": "(end.|)he\nend!)",
		"; he\n?!": "; he\n?|!", `Dr.,`: `Dr.,`, `'end.' 3.5 end!) dr.`: `'end.'|3.5 end!)|dr.`,
		"smith\nThe\n": "smith\nThe", "the\n5. No.": "the\n5.|No.", "5th.  ;\nend!)\n": "5th.|;\nend!)",
		"end!)\nA.\nhe\n": "end!)|A.\nhe", `dr.  end." Word. end."`: `dr.|end."|Word.|end."`, `he  (He`: `he  (He`,
		`?! cat`: `?|!|cat`, "?\n... -5.\nNo.": `?|... -5.|No.`, `Smith end."`: `Smith end."`,
		"12.\ndr. 12. (He\n": "12.\ndr. 12.|(He", ". . . -- 12.\n!": ".|.|.|-- 12.\n!",
		"b --\n-5. @\n": "b --\n-5.|@", `...he  A.`: `...he  A.`, `End  cat`: `End  cat`,
		`The  no. ; end.”`: `The  no. ; end.”`, `b,`: `b,`, `he -5. 1,000.`: `he -5.|1,000.`,
		`b End  He...he`: `b End  He...he`, `a.b.  . . .`: `a.b.|.|.|.`, `5. dog U.S.`: `5. dog U.S.`,
		`dr. ?!  12.`: `dr.|?|!|12.`, "end ?\n": `end ?`, `. . . j. -5.`: `.|.|.|j.|-5.`, `the e.g.`: `the e.g.`,
		`end.) end!)  ...He`: `end.)|end!)|...He`, "End !\nx.": `End !|x.`,
		`cat Smith (end.)Street`: `cat Smith (end.|)Street`, `Smith "He`: `Smith "He`,
		"U.S.\n...He no.": "U.S.\n...He no.", "1,000. Cat\n": `1,000.|Cat`, "@ (He e.g.\n": `@ (He e.g.`,
		`The He No. street`: `The He No. street`, "John\nend.) smith  . . .": "John\nend.)|smith  .|.|.",
		`Smith (end.)`: `Smith (end.)`,
	} {
		require.Equal(t, want, strings.Join(p.Sentences(text), "|"), "%q", text)
	}
}

// Whether a word starts a sentence, for every set of places where it was seen: bits 1 to 3 in upper case at the
// begin of a sentence, within one and elsewhere, and bits 4 to 6 likewise in lower case (_ortho_heuristic in NLTK).
func TestWordsThatStartASentence(t *testing.T) {
	p := newPunkt()
	for seen := range orthoFlags(128) {
		bit := func(n int) bool { return seen>>n&1 == 1 }
		upper, lower := bit(1) || bit(2) || bit(3), bit(4) || bit(5) || bit(6)
		want := map[string]guess{"Word": unknown, "word": unknown, "7th": unknown, ";": no, ".": no, ";;": unknown}
		if lower && !bit(2) {
			want["Word"] = yes
		}
		if upper || !bit(4) {
			want["word"] = no
		}
		for text, guess := range want {
			token := p.first(text)
			p.ortho[token.inSentence()] = seen
			require.Equal(t, guess, p.starts(&token), "%q, seen %07b", text, seen)
		}
	}
}
