package pickle

import (
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// class is the role of an allowed name for the readers of tables.
type class uint8

const (
	classOther     class = iota // allowed but ignored
	classArray                  // the type numpy.ndarray
	classRebuilt                // function that creates an empty array, which then gets its state
	classBuffer                 // function that creates an array from bytes
	classDType                  // numpy.dtype
	classScalar                 // function that creates one number
	classEncode                 // _codecs.encode
	classContainer              // dict, list or set under another name
	classBytes                  // bytes, bytearray
	classCopied                 // copyreg._reconstructor: (class, base, state)
	classFrame
	classSeries
	classManager
	classBlock  // function that creates a block from (values, placement, dimensions)
	classIndex  // an index, or the function that creates one from (class, dict)
	classRange  // the type RangeIndex
	classSlice  // builtins.slice
	classBacked // a pandas array that wraps a numpy array
	classMasked // a pandas array with a mask of missing values
	classCategorical
	classCategories // the type of a categorical column
	classArrow      // a pandas array that wraps a pyarrow array
	classArrowArray // function that creates a pyarrow array from buffers
	classArrowChunks
	classArrowType
	classArrowBuffer
	classImage   // a Pillow image
	classMissing // pandas' own None
)

// Global is a name that a pickle may use.
type Global struct {
	Name  string // full name, including the module
	class class
}

// allowances lists the names that a pickle may use. Each name is allowed in each module that contains it in some
// version of pandas or numpy.
var allowances = []struct {
	modules string
	names   string
	class   class
}{
	{"pandas pandas.core.frame", "DataFrame", classFrame},
	{"pandas pandas.core.series", "Series", classSeries},
	{"pandas.core.internals.managers pandas.core.internals", "BlockManager SingleBlockManager", classManager},
	{"pandas._libs.internals pandas.core.internals.blocks pandas.core.internals.api", "_unpickle_block", classBlock},
	{"pandas pandas.core.indexes.base", "Index _new_Index", classIndex},
	{"pandas.core.indexes.numeric", "Int64Index UInt64Index Float64Index NumericIndex", classIndex},
	{"pandas pandas.core.indexes.range", "RangeIndex", classRange},
	{"pandas.arrays pandas.core.arrays.datetimes pandas.core.arrays.timedeltas pandas.core.arrays.period",
		"DatetimeArray TimedeltaArray PeriodArray", classBacked},
	{"pandas pandas._libs.missing", "NA", classMissing},
	{"pandas._libs.tslibs.nattype", "_nat_unpickle", classMissing},
	{"datetime", "datetime date time timedelta timezone", classOther},
	{"decimal", "Decimal", classOther},
	{"uuid", "UUID", classOther},
	{"pandas._libs.arrays", "__pyx_unpickle_NDArrayBacked", classBacked},
	{"pandas.arrays pandas.core.arrays.string_ pandas.core.arrays.numpy_", "StringArray PandasArray NumpyExtensionArray",
		classBacked},
	{"pandas.arrays pandas.core.arrays.integer pandas.core.arrays.boolean pandas.core.arrays.floating",
		"IntegerArray BooleanArray FloatingArray", classMasked},
	{"pandas pandas.core.arrays.categorical", "Categorical", classCategorical},
	{"pandas pandas.core.dtypes.dtypes", "CategoricalDtype", classCategories},
	{"pandas pandas.core.arrays.string_", "StringDtype", classOther},
	{"pandas pandas.core.arrays.integer", "Int8Dtype Int16Dtype Int32Dtype Int64Dtype UInt8Dtype UInt16Dtype " +
		"UInt32Dtype UInt64Dtype", classOther},
	{"pandas pandas.core.arrays.boolean pandas.core.arrays.floating", "BooleanDtype Float32Dtype Float64Dtype",
		classOther},
	{"pandas.arrays pandas.core.arrays.string_arrow pandas.core.arrays.arrow.array",
		"ArrowStringArray ArrowStringArrayNumpySemantics ArrowExtensionArray", classArrow},
	{"pandas pandas.core.dtypes.dtypes pandas.core.arrays.arrow.dtype", "ArrowDtype", classOther},
	{"pyarrow.lib", "_restore_array", classArrowArray},
	{"pyarrow.lib", "chunked_array", classArrowChunks},
	{"pyarrow.lib", "type_for_alias", classArrowType},
	{"pyarrow.lib", "py_buffer", classArrowBuffer},
	{"numpy", "ndarray", classArray},
	{"numpy", "dtype", classDType},
	{"numpy.core.multiarray numpy._core.multiarray", "_reconstruct", classRebuilt},
	{"numpy.core.multiarray numpy._core.multiarray", "scalar", classScalar},
	{"numpy.core.numeric numpy._core.numeric", "_frombuffer", classBuffer},
	{"builtins __builtin__", "slice", classSlice},
	{"builtins __builtin__", "bytes bytearray", classBytes},
	{"builtins __builtin__", "object", classOther},
	{"builtins __builtin__", "dict list set frozenset", classContainer},
	{"collections", "OrderedDict defaultdict", classContainer},
	{"copyreg copy_reg", "_reconstructor", classCopied},
	{"_codecs", "encode", classEncode},
	{"PIL.Image", "Image", classImage},
	{"PIL.JpegImagePlugin", "JpegImageFile", classImage},
	{"PIL.MpoImagePlugin", "MpoImageFile", classImage},
	{"PIL.PngImagePlugin", "PngImageFile", classImage},
	{"PIL.WebPImagePlugin", "WebPImageFile", classImage},
	{"PIL.GifImagePlugin", "GifImageFile", classImage},
	{"PIL.BmpImagePlugin", "BmpImageFile", classImage},
	{"PIL.TiffImagePlugin", "TiffImageFile", classImage},
	{"PIL.TiffImagePlugin", "IFDRational", classOther},
}

// allowed contains the allowances by full name.
var allowed = func() map[string]*Global {
	all := map[string]*Global{}
	for _, row := range allowances {
		for module := range strings.FieldsSeq(row.modules) {
			for name := range strings.FieldsSeq(row.names) {
				full := module + "." + name
				all[full] = &Global{full, row.class}
			}
		}
	}
	return all
}()

// global returns the Global of a name, or an error if it is not allowed.
func global(module, name string) (*Global, error) {
	full := module + "." + name
	if g, ok := allowed[full]; ok {
		return g, nil
	}
	const most = 80
	return nil, &Error{At: -1, Found: "the name " + foreign.Line(full, most) + ", which the pickle would call",
		Expected: "only the names that tables need (pandas, numpy, plain Python)",
		Try:      "nothing was run; if you trust the file, open it in Python and " + tryTable}
}

// classOf returns the class of an object, or classOther for any other value.
func classOf(v any) class {
	if o, ok := v.(*Object); ok {
		return o.Class.class
	}
	return classOther
}
