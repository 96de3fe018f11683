"""The boundary: everything that a stranger gives passes here, whoever asks for it.

The command line, the library and the explorer read strangers' files with the functions of this
package and show strangers' text with them. What is not as it should be is refused with one line,
before memory or time is spent on it; nothing is executed.

| what | limits (`limits`) | read by |
|---|---|---|
| JSON | 32 MiB, 64 levels, 2²⁰ entries, texts of 16 MiB, keys of 4,096 characters | `documents` |
| TOML | 1 MiB, 64 levels, 2¹⁷ entries, keys of 4,096 characters | `documents` |
| numbers in both | finite, integers below 2⁶⁴; no key twice, no lone surrogates | `documents` |
| wheels, npm tarballs | 2¹⁶ files, 1 GiB unpacked; files are read by name | `packages` |
| ``.npz`` | 64 plain arrays, 1 GiB unpacked; above 64 MiB at most 128 times the file | `archives` |
| Parquet | 10⁷ rows in 10⁴ row groups, 1 GiB as arrays | `tables` |
| safetensors | a header of 32 MiB that fits the file byte for byte | `header` |
| files | regular ones; a name inside a folder does not lead out of it | `paths` |
| text | control characters, escapes and changes of direction are spelled out | `text` |

A network, whatever file or form describes it, has at most 4,096 layers, 512 that differ, 4,096
heads a layer, and numbers between 1e-150 and 1e150 (`dudley.networks.extent`). An encoding makes
at most 2²⁴ numbers of one example.
"""
