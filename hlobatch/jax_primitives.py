"""The table of JAX's primitives: the StableHLO operation of each, how it is batched, its cost, and other properties.

Every list of primitives in another module is a view of this table. A primitive that is not in it is batched by
``jax.vmap``, and nothing else is known of it; a test checks the installed JAX's primitives against the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import Final, final


class Batched(Enum):
    """How a primitive on one lane becomes one on all lanes, which are the last axis.

    Attributes:
        EACH: Unchanged: it works on each element by itself.
        AXES: Unchanged: it works along axes that are counted from the first, before the axis of lanes.
        OWN: By a rule of its own.
        CONTROL: By batching the jaxprs inside it.
        CALL: By inlining the jaxpr that it calls.
        WORDS: By operations on a key's words, since it draws from a key, or makes one.
        VMAP: By ``jax.vmap``.
    """

    EACH = "each"
    AXES = "axes"
    OWN = "own"
    CONTROL = "control"
    CALL = "call"
    WORDS = "words"
    VMAP = "vmap"


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
    """Other properties of a primitive.

    Attributes:
        KERNEL: XLA emits it into one kernel on a CPU, in which no library but that of C is called.
        CODE: It has a rule in ``kernels/``, which emits LLVM IR for one lane.
        TURNS: LLVM vectorizes it, so that several turns of a loop may become one.
        LIBM: LLVM calls the C library for each element.
        READS: Its result is some elements of its first operand.
        UPDATES: Its result is its first operand with some elements changed.
        VIEW: Its result would be a NumPy view of its first operand.
        FUSED: XLA fuses it into whatever reads its result.
        FREE: XLA does not move it out of a loop in which it is invariant, unless it moves a user of its result.
        ALIASES: In hlobatch's LLVM IR, its result may share memory with its first operand.
        LOOP: It is a loop.
        LAPACK: It calls LAPACK on a CPU.
        FOREIGN: It calls a function that the user has linked.
    """

    NONE = 0
    KERNEL = auto()
    CODE = auto()
    TURNS = auto()
    LIBM = auto()
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
        becomes: The StableHLO operations that JAX may lower it to; empty if it is lowered to several at once.
        batched: How it becomes a primitive on all lanes.
        costs: The cost of an element of its result.
        traits: Its other properties.
    """

    becomes: tuple[str, ...] = ()
    batched: Batched = Batched.VMAP
    costs: Costs = Costs.NUMBER
    traits: Trait = Trait.NONE


_KNOWN: Final = """
    # primitive                 becomes                  batched  costs     traits

    abs                         abs                      each     number    kernel code turns
    acos                        -                        each     function  kernel code
    acosh                       -                        each     function  kernel code
    add                         add                      each     number    kernel code turns
    add_any                     add                      each     number    kernel code turns
    and                         and                      each     number    kernel code turns
    asin                        -                        each     function  kernel code
    asinh                       -                        each     function  kernel code
    atan                        -                        each     function  kernel code
    atan2                       atan2                    each     function  kernel code libm
    atanh                       -                        each     function  kernel code
    bessel_i0e                  -                        each     function  kernel
    bessel_i1e                  -                        each     function  kernel
    cbrt                        cbrt                     each     function  kernel code libm
    ceil                        ceil                     each     number    kernel code turns
    clamp                       clamp                    each     number    kernel code turns
    clz                         count_leading_zeros      each     number    kernel code
    complex                     complex                  each     number    kernel code
    conj                        -                        each     number    kernel code
    convert_element_type        convert                  each     number    kernel code turns
    copy                        -                        each     number    kernel code turns
    cos                         cosine                   each     function  kernel code libm
    cosh                        -                        each     function  kernel code
    digamma                     -                        each     function  kernel
    div                         divide                   each     number    kernel code turns
    eq                          compare                  each     number    kernel code turns
    eq_to                       compare                  each     number    kernel code
    erf                         -                        each     function  kernel code
    erf_inv                     -                        each     function  kernel code
    erfc                        -                        each     function  kernel code
    exp                         exponential              each     function  kernel code turns
    exp2                        -                        each     function  kernel code turns
    expm1                       exponential_minus_one    each     function  kernel code turns
    floor                       floor                    each     number    kernel code turns
    ge                          compare                  each     number    kernel code turns
    gt                          compare                  each     number    kernel code turns
    igamma                      -                        each     function
    igamma_grad_a               -                        each     function
    igammac                     -                        each     function
    imag                        imag                     each     number    kernel code
    integer_pow                 -                        each     number    kernel code turns
    is_finite                   is_finite                each     number    kernel code turns
    le                          compare                  each     number    kernel code turns
    le_to                       compare                  each     number    kernel code
    lgamma                      -                        each     function  kernel code
    log                         log                      each     function  kernel code turns
    log1p                       log_plus_one             each     function  kernel code turns
    log2                        -                        each     function  kernel
    logistic                    logistic                 each     function  kernel code turns
    lt                          compare                  each     number    kernel code turns
    lt_to                       compare                  each     number    kernel code
    max                         maximum                  each     number    kernel code turns
    min                         minimum                  each     number    kernel code turns
    mul                         multiply                 each     number    kernel code turns
    mulhi                       -                        each     number
    ne                          compare                  each     number    kernel code turns
    neg                         negate                   each     number    kernel code turns
    nextafter                   -                        each     number    kernel code
    not                         not                      each     number    kernel code turns
    one_minus_square            -                        each     number    kernel code
    or                          or                       each     number    kernel code turns
    polygamma                   -                        each     function
    population_count            popcnt                   each     number    kernel code
    pow                         power                    each     function  kernel code libm
    real                        real                     each     number    kernel code
    reduce_precision            reduce_precision         each     number    kernel code
    regularized_incomplete_beta -                        each     function
    rem                         remainder                each     number    kernel code turns
    round                       round_nearest_afz,round_nearest_even each     number    kernel code turns
    rsqrt                       rsqrt                    each     number    kernel code turns
    select_n                    select                   each     number    kernel code turns
    shift_left                  shift_left               each     number    kernel code turns
    shift_right_arithmetic      shift_right_arithmetic   each     number    kernel code turns
    shift_right_logical         shift_right_logical      each     number    kernel code turns
    sign                        sign                     each     number    kernel code turns
    sin                         sine                     each     function  kernel code libm
    sinh                        -                        each     function  kernel code
    sqrt                        sqrt                     each     number    kernel code turns
    square                      -                        each     number    kernel code turns
    stop_gradient               -                        each     number    kernel code
    sub                         subtract                 each     number    kernel code turns
    tan                         tan                      each     function  kernel code libm
    tanh                        tanh                     each     function  kernel code turns
    threefry2x32                -                        each     random    kernel code
    xor                         xor                      each     number    kernel code turns
    zeta                        -                        each     function

    argmax                      reduce                   axes     number    kernel code
    argmin                      reduce                   axes     number    kernel code
    concatenate                 concatenate              axes     number    kernel code
    cumlogsumexp                -                        axes     number    kernel
    cummax                      -                        axes     number    kernel code
    cummin                      -                        axes     number    kernel code
    cumprod                     -                        axes     number    kernel code
    cumsum                      -                        axes     number    kernel code
    reduce_and                  reduce                   axes     number    kernel code
    reduce_max                  reduce                   axes     number    kernel code
    reduce_min                  reduce                   axes     number    kernel code
    reduce_or                   reduce                   axes     number    kernel code
    reduce_prod                 reduce                   axes     number    kernel code
    reduce_sum                  reduce                   axes     number    kernel code
    reduce_xor                  reduce                   axes     number    kernel code
    rev                         reverse                  axes     number    kernel code view fused
    sort                        sort                     axes     number    code
    split                       slice                    axes     number    kernel code fused
    squeeze                     reshape                  axes     number    kernel code view fused free aliases

    bitcast_convert_type        bitcast_convert          own      number    kernel code
    broadcast_in_dim            broadcast_in_dim         own      number    kernel code turns view fused free aliases
    dot_general                 dot_general              own      number    kernel code
    dynamic_slice               dynamic_slice            own      number    kernel code reads view aliases
    dynamic_update_slice        dynamic_update_slice     own      number    kernel code updates
    gather                      gather                   own      number    kernel code reads
    optimization_barrier        optimization_barrier     own      number    kernel code
    pad                         pad                      own      number    kernel code
    random_unwrap               -                        own      number    kernel code
    random_wrap                 -                        own      number    kernel code
    reshape                     reshape                  own      number    kernel code view fused free aliases
    scatter                     scatter                  own      number    kernel code updates
    scatter-add                 scatter                  own      number    kernel code updates
    scatter-max                 scatter                  own      number    kernel code updates
    scatter-min                 scatter                  own      number    kernel code updates
    scatter-mul                 scatter                  own      number    kernel code updates
    scatter-sub                 scatter                  own      number    kernel code updates
    slice                       slice                    own      number    kernel code view fused aliases
    transpose                   transpose                own      number    kernel code view

    cond                        case                     control  number    kernel code
    scan                        while                    control  number    kernel code loop
    while                       while                    control  number    kernel code loop

    call_hi_primitive           -                        call     number    kernel
    closed_call                 -                        call     number    kernel
    custom_jvp_call             -                        call     number    kernel
    custom_vjp_call             -                        call     number    kernel
    jit                         -                        call     number    kernel
    remat2                      -                        call     number    kernel

    random_bits                 -                        words    random    kernel
    random_fold_in              -                        words    random    kernel
    random_seed                 -                        words    number    kernel
    random_split                -                        words    random    kernel

    cholesky                    -                        vmap     number    code lapack
    custom_call                 -                        vmap     number    foreign
    custom_linear_solve         -                        vmap     number    code
    eig                         -                        vmap     number    lapack
    eigh                        -                        vmap     number    code lapack
    empty                       -                        vmap     number    code
    empty2                      -                        vmap     number    code
    ffi_call                    -                        vmap     number    foreign
    geqp3                       -                        vmap     number    lapack
    geqrf                       -                        vmap     number    code lapack
    hessenberg                  -                        vmap     number    lapack
    householder_product         -                        vmap     number    code lapack
    iota                        iota                     vmap     number    kernel code
    iota_2x32_shape             -                        vmap     number    code
    lu                          -                        vmap     number    code lapack
    lu_pivots_to_permutation    -                        vmap     number    code
    ormqr                       -                        vmap     number    lapack
    platform_index              -                        vmap     number    code
    qr                          -                        vmap     number    code lapack
    random_clone                -                        vmap     number    kernel
    reduce                      reduce                   vmap     number    kernel
    schur                       -                        vmap     number    lapack
    stack                       -                        vmap     number    kernel code
    svd                         -                        vmap     number    lapack
    tile                        -                        vmap     number    kernel
    triangular_solve            -                        vmap     number    code lapack
    tridiagonal                 -                        vmap     number    lapack
    tridiagonal_solve           -                        vmap     number    lapack
    unstack                     -                        vmap     number    kernel code aliases
"""
"""``-`` stands for primitives without one StableHLO operation. JAX 0.10 and 0.12 have almost the same primitives; those
that only one of them has are included. ``custom_call`` is an operation of code that is read from a module.
"""
_BATCHED_ALONE: Final = """
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
    reduced_vary_cast reduced_vary_cast_p relayout remat_opt reshard rng_bit_generator rng_uniform run_state
    scaled_dot scaled_matmul scaled_matmul_wrapper select_and_gather_add select_and_scatter select_and_scatter_add
    shape_assertion shard_map sharding_constraint stage swap symmetric_product threefry4x32 tie to_edtype top_k
    unpin unreachable unreduced_pmax unreduced_pmin unreduced_psum unreduced_psum_start unreduced_reduce_scatter
    unreduced_reduce_scatter_start vary_unreduced_cast vary_unreduced_cast_p with_memory_space_constraint
    zeros_like
"""
"""Primitives that ``jax.vmap`` batches, or that no single-example program has: collectives, references, effects."""


def _entry(line: str) -> tuple[str, Primitive]:
    name, becomes, batched, costs, *traits = line.split()
    found = Trait.NONE
    for trait in traits:
        found |= Trait[trait.upper()]
    operations = () if becomes == "-" else tuple(f"stablehlo.{each}" for each in becomes.split(","))
    return name, Primitive(operations, Batched(batched), Costs(costs), found)


_LINES: Final = [line for line in map(str.strip, _KNOWN.splitlines()) if line and not line.startswith("#")]
TABLE: Final[Mapping[str, Primitive]] = dict(map(_entry, _LINES)) | dict.fromkeys(_BATCHED_ALONE.split(), Primitive())
"""The entry of each primitive, by its name."""


def having(*traits: Trait) -> frozenset[str]:
    """The primitives with at least one of the given traits."""
    return frozenset(name for name, entry in TABLE.items() if any(trait in entry.traits for trait in traits))


def batched(*ways: Batched) -> frozenset[str]:
    """The primitives that are batched in one of the given ways."""
    return frozenset(name for name, entry in TABLE.items() if entry.batched in ways)


def costing(*costs: Costs) -> frozenset[str]:
    """The primitives whose results cost one of the given costs per element."""
    return frozenset(name for name, entry in TABLE.items() if entry.costs in costs)


def costs_of(name: str) -> Costs:
    """The cost of an element of a primitive's result."""
    return TABLE[name].costs if name in TABLE else Costs.NUMBER


def operations(names: Iterable[str]) -> frozenset[str]:
    """The StableHLO operations that some primitives become."""
    return frozenset(operation for name in names for operation in TABLE[name].becomes)


IN_KERNELS: Final = having(Trait.KERNEL)
AT_ONCE: Final = having(Trait.TURNS)
READS: Final = having(Trait.READS)
UPDATES: Final = having(Trait.UPDATES)
VIEWS: Final = having(Trait.VIEW)
FUSED: Final = having(Trait.FUSED)
FREE: Final = having(Trait.FREE)
ALIASES: Final = having(Trait.ALIASES)
LOOPS: Final = having(Trait.LOOP)
