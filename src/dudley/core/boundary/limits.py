"""The largest of everything that is read; honest files are far below."""

MIB = 1 << 20

JSON_BYTES = 32 * MIB
TOML_BYTES = MIB
DEPTH = 64  # levels of nesting
JSON_ENTRIES = 1 << 20  # values in a document: each takes some hundred bytes when it is parsed
TOML_ENTRIES = 1 << 17
TEXT = 16 * MIB  # characters of one text; a code word stands in a header as one text
KEY = 4096  # characters of a key
INTEGER = 1 << 64  # integers are smaller, in absolute value

HEADER_BYTES = JSON_BYTES  # of a safetensors file

MEMBERS = 64  # arrays of an archive
UNPACKED = 1024 * MIB  # bytes of all arrays of a data file
ALWAYS_UNPACKED = 64 * MIB  # so much is unpacked however small the file is
SWELLING = 128  # beyond that, unpacked bytes for each byte of the file
ROWS = 10**7  # examples of a data set
EXAMPLE = 1 << 24  # numbers in the token rows of one example

LAYERS = 4096  # of a network, repeats counted
SEPARATE_LAYERS = 512  # tables of layers, and repeats with numbers of their own
HEADS = 4096  # of a layer
NUMBER = 1e150  # norms and sizes of a network; products of two are floats

PACKAGE_DIRECTORY = 16 * MIB  # bytes of the directory of a wheel
PACKAGE_MEMBERS = 1 << 16  # files of a wheel, an npm tarball or a folder of a package
PACKAGE_HEADER = MIB  # bytes of a tarball's longest header
