"""The prover: decides every obligation, path by path.

For each path three questions are put to a solver, and any answer but the expected one fails:

* can it be taken at all? (expected: yes, or the path is vacuous)
* is an answer to one of its truth tests missing, that is, was only one answer followed where both are possible?
  (expected: no, so the paths are exhaustive)
* can it be taken while a claim is false? (expected: no)

That two paths exclude each other is a matter of form: they part at a truth test that they answer differently.
"""



