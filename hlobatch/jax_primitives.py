"""The table of JAX's primitives: what each takes, and what may be done with it.

Every list of primitives that another module goes by is a view of this table. Nothing is known of a primitive that it
does not name; a test walks those of the installed JAX and lists such.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import Final, final


class Costs(Enum):
    """The cost of an element of a primitive's result.

    Attributes:
        NUMBER: That of an arithmetic operation.
        FUNCTION: That of a polynomial, or a library call.
        RANDOM: That of generating random bits.
    """

    NUMBER = "number"
    FUNCTION = "function"
    RANDOM = "random"


class Trait(Flag):
    """A property of a primitive.

    Attributes:
        CODE: It has a rule in ``kernels/``, which makes LLVM IR of one lane of it.
        CONTROL: It runs code of its own, as a loop or a branch.
        CALL: It only calls code, which takes its place.
        READS: It gives some elements of its first operand.
        UPDATES: It gives back its first operand with some elements changed.
        VIEW: Its result is, in NumPy, a view of its first operand.
        FUSED: XLA makes it part of whatever reads its result.
        FREE: XLA leaves it in a loop that does not change it, unless it moves what takes its result.
        ALIASES: In LLVM IR of ours, its result may lie where its first operand does.
        LOOP: It runs code again and again.
        LAPACK: It calls LAPACK on a CPU.
        FOREIGN: It calls a function that the user has linked.
    """

    NONE = 0
    CODE = auto()
    CONTROL = auto()
    CALL = auto()
    READS = auto()
    UPDATES = auto()
    VIEW = auto()
    FUSED = auto()
    FREE = auto()
    ALIASES = auto()
    LOOP = auto()
    LAPACK = auto()
    FOREIGN = auto()


@final
@dataclass(frozen=True)
class Primitive:
    """An entry of the table.

    Attributes:
        costs: What an element of its result takes.
        traits: What is true of it.
    """

    costs: Costs = Costs.NUMBER
    traits: Trait = Trait.NONE


_KNOWN: Final = """
    # primitive                 costs     traits

    abs                         number    code
    acos                        function  code
    acosh                       function  code
    add                         number    code
    add_any                     number    code
    and                         number    code
    asin                        function  code
    asinh                       function  code
    atan                        function  code
    atan2                       function  code
    atanh                       function  code
    bessel_i0e                  function
    bessel_i1e                  function
    cbrt                        function  code
    ceil                        number    code
    clamp                       number    code
    clz                         number    code
    complex                     number    code
    conj                        number    code
    convert_element_type        number    code
    copy                        number    code
    cos                         function  code
    cosh                        function  code
    digamma                     function
    div                         number    code
    eq                          number    code
    eq_to                       number    code
    erf                         function  code
    erf_inv                     function  code
    erfc                        function  code
    exp                         function  code
    exp2                        function  code
    expm1                       function  code
    floor                       number    code
    ge                          number    code
    gt                          number    code
    igamma                      function
    igamma_grad_a               function
    igammac                     function
    imag                        number    code view
    integer_pow                 number    code
    is_finite                   number    code
    le                          number    code
    le_to                       number    code
    lgamma                      function  code
    log                         function  code
    log1p                       function  code
    log2                        function
    logistic                    function  code
    lt                          number    code
    lt_to                       number    code
    max                         number    code
    min                         number    code
    mul                         number    code
    mulhi                       number
    ne                          number    code
    neg                         number    code
    nextafter                   number    code
    not                         number    code
    one_minus_square            number    code
    or                          number    code
    polygamma                   function
    population_count            number    code
    pow                         function  code
    real                        number    code view
    reduce_precision            number    code
    regularized_incomplete_beta function
    rem                         number    code
    round                       number    code
    rsqrt                       number    code
    select_n                    number    code
    shift_left                  number    code
    shift_right_arithmetic      number    code
    shift_right_logical         number    code
    sign                        number    code
    sin                         function  code
    sinh                        function  code
    sqrt                        number    code
    square                      number    code
    stop_gradient               number    code
    sub                         number    code
    tan                         function  code
    tanh                        function  code
    threefry2x32                random    code
    xor                         number    code
    zeta                        function

    argmax                      number    code
    argmin                      number    code
    concatenate                 number    code
    cumlogsumexp                number
    cummax                      number    code
    cummin                      number    code
    cumprod                     number    code
    cumsum                      number    code
    reduce_and                  number    code
    reduce_max                  number    code
    reduce_min                  number    code
    reduce_or                   number    code
    reduce_prod                 number    code
    reduce_sum                  number    code
    reduce_xor                  number    code
    rev                         number    code view fused
    sort                        number    code
    split                       number    code view fused
    squeeze                     number    code view fused free aliases

    bitcast_convert_type        number    code
    broadcast_in_dim            number    code view fused free aliases
    dot_general                 number    code
    dynamic_slice               number    code reads view aliases
    dynamic_update_slice        number    code updates
    gather                      number    code reads
    optimization_barrier        number    code
    pad                         number    code
    random_unwrap               number    code
    random_wrap                 number    code
    reshape                     number    code view fused free aliases
    reshard                     number    code
    scatter                     number    code updates
    scatter-add                 number    code updates
    scatter-max                 number    code updates
    scatter-min                 number    code updates
    scatter-mul                 number    code updates
    scatter-sub                 number    code updates
    slice                       number    code view fused aliases
    transpose                   number    code view

    cond                        number    control code
    scan                        number    control code loop
    while                       number    control code loop

    call_hi_primitive           number    call
    closed_call                 number    call
    custom_jvp_call             number    call
    custom_vjp_call             number    call
    jit                         number    call
    remat2                      number    call

    random_bits                 random
    random_fold_in              random
    random_seed                 number
    random_split                random

    cholesky                    number    code lapack
    custom_call                 number    foreign
    custom_linear_solve         number    code
    eig                         number    lapack
    eigh                        number    code lapack
    empty                       number    code
    empty2                      number    code
    ffi_call                    number    foreign
    geqp3                       number    lapack
    geqrf                       number    code lapack
    hessenberg                  number    lapack
    householder_product         number    code lapack
    iota                        number    code
    iota_2x32_shape             number    code
    lu                          number    code lapack
    lu_pivots_to_permutation    number    code
    ormqr                       number    lapack
    platform_index              number    code
    qr                          number    code lapack
    random_clone                number
    reduce                      number
    schur                       number    lapack
    stack                       number    code
    svd                         number    lapack
    tile                        number
    triangular_solve            number    code lapack
    tridiagonal                 number    lapack
    tridiagonal_solve           number    lapack
    unstack                     number    code view aliases
"""
"""JAX 0.10 and 0.12 have the same primitives but for a few; the last that only one of them has are here as well.
``custom_call`` is an operation of code that is read from a module."""
_OTHERS: Final = """
    accum_grad_in_ref addupdate after_all all_gather all_gather_done all_gather_invariant all_gather_reduced
    all_gather_reduced_start all_gather_start all_to_all all_to_all_done all_to_all_start approx_top_k axis_index
    box_get box_set broadcast_to call call_exported call_hi_primitive_linearized cholesky_update
    composite conv_general_dilated create_linear create_token cudnn_fusion custom_jvp_call_jaxpr custom_lin
    custom_partitioning custom_vmap_call dce_sink debug_callback debug_print device_put
    dim_as_value dimension_size dot_product_attention_bwd dot_product_attention_bwd_wrapper
    dot_product_attention_fp8_bwd dot_product_attention_fp8_bwd_wrapper dot_product_attention_fp8_fwd
    dot_product_attention_fp8_fwd_wrapper dot_product_attention_fwd dot_product_attention_fwd_wrapper
    empty_ref eval_jaxpr fft free_ref freeze from_edtype get inspect_sharding io_callback layout_constraint
    linear_call log_extend log_read name new_box new_log new_ref pbroadcast
    pbroadcast_done pbroadcast_dynamic pbroadcast_start philox2x32 philox4x32 pin pmax pmin polynomial ppermute
    ppermute_done ppermute_start precv preduced psend psum psum_done psum_invariant psum_invariant_start
    psum_start pure_callback pvary ragged_all_to_all ragged_dot_general random_gamma reduce_scatter
    reduce_scatter_done reduce_scatter_start reduce_window reduce_window_max reduce_window_min reduce_window_sum
    reduced_vary_cast reduced_vary_cast_p relayout remat_opt rng_bit_generator rng_uniform run_state
    scaled_dot scaled_matmul scaled_matmul_wrapper select_and_gather_add select_and_scatter select_and_scatter_add
    shape_assertion shard_map sharding_constraint stage swap symmetric_product threefry4x32 tie to_edtype top_k
    unpin unreachable unreduced_pmax unreduced_pmin unreduced_psum unreduced_psum_start unreduced_reduce_scatter
    unreduced_reduce_scatter_start vary_unreduced_cast vary_unreduced_cast_p with_memory_space_constraint
    zeros_like
"""
"""Primitives that ``jax.vmap`` batches, or that no single-example program has: collectives, references, effects."""


def _entry(line: str) -> tuple[str, Primitive]:
    name, costs, *traits = line.split()
    found = Trait.NONE
    for trait in traits:
        found |= Trait[trait.upper()]
    return name, Primitive(Costs(costs), found)


_LINES: Final = [line for line in map(str.strip, _KNOWN.splitlines()) if line and not line.startswith("#")]
TABLE: Final[Mapping[str, Primitive]] = dict(map(_entry, _LINES)) | dict.fromkeys(_OTHERS.split(), Primitive())
"""By name of the primitive."""


def having(*traits: Trait) -> frozenset[str]:
    """The primitives with at least one of the given traits."""
    return frozenset(name for name, entry in TABLE.items() if any(trait in entry.traits for trait in traits))


def costing(*costs: Costs) -> frozenset[str]:
    """The primitives whose results cost one of the given costs per element."""
    return frozenset(name for name, entry in TABLE.items() if entry.costs in costs)


def costs_of(name: str) -> Costs:
    """The cost of an element of a primitive's result."""
    return TABLE[name].costs if name in TABLE else Costs.NUMBER


CALLS: Final = having(Trait.CALL)
CONTROL: Final = having(Trait.CONTROL)
READS: Final = having(Trait.READS)
UPDATES: Final = having(Trait.UPDATES)
VIEWS: Final = having(Trait.VIEW)
FUSED: Final = having(Trait.FUSED)
FREE: Final = having(Trait.FREE)
ALIASES: Final = having(Trait.ALIASES)
LOOPS: Final = having(Trait.LOOP)
