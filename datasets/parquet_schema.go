package datasets

import (
	"fmt"
)

// Physical types of a Parquet leaf (format/Thrift enum Type).
const (
	pqBoolean, pqInt32, pqInt64, pqInt96, pqFloat, pqDouble, pqBytes, pqFixed = 0, 1, 2, 3, 4, 5, 6, 7
)

// Repetition of a Parquet node (enum FieldRepetitionType).
const (
	pqRequired, pqOptional, pqRepeated = 0, 1, 2
)

// pqMeaning is how a leaf's annotation interprets its physical type.
type pqMeaning uint8

const (
	pqPlain pqMeaning = iota
	pqText
	pqJSON
	pqUnsigned
	pqDecimal
)

// Relevant annotations: ConvertedType and LogicalType numbers of parquet.thrift.
var (
	pqConverted = map[int64]pqMeaning{0: pqText, 4: pqText, 5: pqDecimal, 11: pqUnsigned, 12: pqUnsigned, 13: pqUnsigned,
		14: pqUnsigned, 19: pqJSON}
	pqLogical = map[int16]pqMeaning{1: pqText, 4: pqText, 5: pqDecimal, 12: pqJSON}
)

const (
	pqConvertedMap  = 1 // 2 is an older annotation of a map's entries
	pqConvertedList = 3
	pqLogicalMap    = 2
	pqLogicalList   = 3
	pqLogicalInt    = 10
)

// pqNode is one node of the schema's tree.
type pqNode struct {
	name         string
	repetition   int64
	physical     int64
	width        int // size in bytes of a pqFixed value
	meaning      pqMeaning
	list         bool // group that represents a list, or a map's list of entries; its only child is repeated
	inner        bool // repeated group that only wraps the list's element
	kids         []*pqNode
	def, rep     int // definition and repetition level of a value that is not null
	leaf         int // index among the leaves; for a group, the index of its first leaf
	leaves       int
	kinds        kind // kinds that the data set's schema accepts, for a top-level node
	known, taken bool
}

// schemaReader builds the tree from the flat list of the footer.
type schemaReader struct {
	elements []thriftNode
	pos      int
	leaves   []*pqNode
}

// readSchema returns the root.
func readSchema(list []thriftNode) (*pqNode, []*pqNode, *fault) {
	r := &schemaReader{elements: list}
	root, f := r.node(0, 0, 0)
	if f == nil && (r.pos != len(list) || len(root.kids) == 0) {
		f = pqDamaged("a malformed schema")
	}
	return root, r.leaves, f
}

func (r *schemaReader) node(def, rep, depth int) (*pqNode, *fault) {
	if r.pos >= len(r.elements) || depth > maxThriftDepth {
		return nil, pqDamaged("a truncated or too deeply nested schema")
	}
	e := &r.elements[r.pos]
	r.pos++
	n := &pqNode{name: string(e.get(4).bytes), repetition: e.get(3).whole, physical: e.get(1).whole,
		width: int(e.get(2).whole), leaf: len(r.leaves)}
	if depth == 0 {
		n.repetition = pqRequired
	}
	if n.repetition != pqRequired {
		def++
	}
	if n.repetition == pqRepeated {
		rep++
	}
	n.def, n.rep = def, rep
	n.annotate(e)
	for range e.get(5).whole {
		kid, f := r.node(def, rep, depth+1)
		if f != nil {
			return nil, f
		}
		n.kids = append(n.kids, kid)
	}
	if f := r.finish(n, e); f != nil {
		return nil, f
	}
	n.leaves = len(r.leaves) - n.leaf
	return n, nil
}

// annotate reads the converted and the logical type.
func (n *pqNode) annotate(e *thriftNode) {
	if c := e.find(6); c != nil {
		n.meaning = pqConverted[c.whole]
		n.list = c.whole >= pqConvertedMap && c.whole <= pqConvertedList
	}
	if l := e.find(10); l != nil && len(l.kids) > 0 {
		n.list = n.list || l.kids[0].field == pqLogicalMap || l.kids[0].field == pqLogicalList
		if m, ok := pqLogical[l.kids[0].field]; ok {
			n.meaning = m
		}
		if l.kids[0].field == pqLogicalInt && l.kids[0].get(2).whole == 0 {
			n.meaning = pqUnsigned
		}
	}
}

// finish checks a node and recognizes the two groups that represent a list (LogicalTypes.md, Lists).
func (r *schemaReader) finish(n *pqNode, e *thriftNode) *fault {
	if n.kids == nil {
		if e.find(1) == nil {
			return pqDamaged(fmt.Sprintf("a group %s without columns", shown([]byte(n.name))))
		}
		if n.physical == pqFixed && (n.width <= 0 || n.width > maxRecord) {
			return pqDamaged(fmt.Sprintf("values of %d bytes", n.width))
		}
		r.leaves = append(r.leaves, n)
		return nil
	}
	if n.list = n.list && len(n.kids) == 1 && n.kids[0].repetition == pqRepeated; n.list {
		kid := n.kids[0]
		kid.inner = len(kid.kids) == 1 && kid.name != "array" && kid.name != n.name+"_tuple"
	}
	return nil
}

func pqDamaged(found string) *fault {
	return &fault{found: found, expected: "a complete Parquet file", try: "get or write the file again"}
}
