#pragma once
// Sums of rows with their gradients, as networks on graphs need them.
//
// libtorch's own index_add, and with it the gradient of index_select, moves one row at a time through its general
// machinery, which costs far more than adding a few dozen numbers. These are plain loops over float matrices.

#include <ATen/ATen.h>

namespace orrery::predict {

// A symmetric sparse matrix by rows: row i has `weights` in `columns`, from first[i] to first[i + 1] − 1. Its leading
// rows refer to no others when the nodes of a graph are contiguous, so a product may leave out the last graphs.
struct SparseRows {
  at::Tensor first, columns;  // 64-bit integers; rows + 1, entries
  at::Tensor weights;         // entries
};

// Σ_e weights[e] · x[columns[e]] for as many leading rows as x has.
// Precondition: the matrix is symmetric, and these rows refer to no others.
at::Tensor product(const SparseRows& matrix, const at::Tensor& x);

// Row i is x[index[i]].
at::Tensor rows_at(const at::Tensor& x, const at::Tensor& index);

// Row j is Σ of the x[i] with index[i] = j, for j from 0 to rows − 1.
at::Tensor rows_summed(const at::Tensor& x, const at::Tensor& index, std::int64_t rows);

}  // namespace orrery::predict
