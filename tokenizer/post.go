package tokenizer

// loadPostProcessor collects the tokens that surround a text.
func (t *Tokenizer) loadPostProcessor(doc *document) error {
	const where = "post_processor"
	steps, err := doc.PostProcessor.steps(where)
	if err != nil {
		return err
	}
	for _, p := range steps {
		switch p.Type {
		case "ByteLevel": // this step changes only offsets, which this package does not keep
		case "TemplateProcessing":
			if err := t.addTemplate(p); err != nil {
				return err
			}
		default:
			return unsupported(where, "it has a step of type %q", p.Type)
		}
	}
	return nil
}

// addTemplate wraps another template around the existing ones.
func (t *Tokenizer) addTemplate(p *part) error {
	const where = "post_processor"
	var sides [2][]int32
	side := 0
	for _, piece := range p.Single {
		switch {
		case piece.Sequence != nil && piece.Sequence.ID == "A" && side == 0:
			side = 1
		case piece.SpecialToken != nil:
			token, ok := p.SpecialTokens[piece.SpecialToken.ID]
			if !ok {
				return broken(where, "its template uses the token %s, which is not in special_tokens",
					shown(piece.SpecialToken.ID))
			}
			for _, id := range token.IDs {
				if !t.has(id) {
					return broken(where, "its token %s has the unused id %d", shown(piece.SpecialToken.ID), id)
				}
			}
			sides[side] = append(sides[side], token.IDs...)
		default:
			return unsupported(where, "its template for single texts has a piece other than special tokens and one sequence A")
		}
	}
	if side == 0 {
		return broken(where, "its template for single texts has no sequence A")
	}
	t.prefix = append(sides[0], t.prefix...)
	t.suffix = append(t.suffix, sides[1]...)
	return nil
}
