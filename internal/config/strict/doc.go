// Package strict decodes YAML documents into structs whose fields state what a value may be.
//
// The tags of a field are the only description of a key; the decoder, Schema, Keys and the reference pages read them:
//
//	yaml:"rate,omitempty"   name of the key
//	doc:"requests a second" one line for people
//	is:">0"                 range of a number: >0, >=1, 0..1
//	one:"chat completions"  accepted texts; without it, those of the type's method Values() []string
//	need:"yes"              the key is required
//	single:"yes"            a list that may be written as one value
//	also:"num_groups"       other names of the key
//	was:"std"               names that only a lenient decoder accepts, with a note
//	yet:"reason"            the decoder refuses the key if its value is neither null, false, 0 nor empty
//
// Every error names the document, the line, the dotted path of the key, what the decoder expected and what it found;
// an unknown key comes with similar names. A field whose pointer has a method Shorthand(string) error may be written as
// one plain value.
//
//	d := strict.Decoder{Name: "profile chat.yaml"}
//	err := d.Decode(root, &profile)
//
// The package imports internal/config only.
package strict
