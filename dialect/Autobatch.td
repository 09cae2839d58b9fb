//===-- Autobatch.td - The autobatch dialect ------------------------------===//
//
// The single source of the dialect. From it are made:
//   dialect/ops.py      the Python op classes      (python -m hlobatch.dialect.generate)
//   docs/dialect.md     the reference              (the same command)
//   the C++ dialect     classes, parser, printer   (mlir-tblgen)
//
// The first two are made by a reader of a few hundred lines (dialect/tablegen.py), so this file keeps to what it reads:
// one `let` per line or one `[{ … }]` text, one argument per line, no `foreach`, no multiclass, no inheritance but from
// the base classes below. Every constraint is a line `* name_cN: …` under `#### Constraints`; the same label is in the
// message of each verifier and in the test that breaks the rule.
//
//===----------------------------------------------------------------------===//

#ifndef AUTOBATCH_TD
#define AUTOBATCH_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Dialect
//===----------------------------------------------------------------------===//

def Autobatch_Dialect : Dialect {
  let name = "autobatch";
  let cppNamespace = "::hlobatch::autobatch";
  let summary = "programs whose lanes each have a program counter of their own";
  let description = [{
    A module of this dialect is one autobatched program: variables, functions made of basic blocks, and the straight-line
    code of its primitives as batched StableHLO. Each member of the batch, a *lane*, has its own program counter; an
    operation acts on one lane at a time, independently of the others. The executor chooses which block runs next, and for
    how many lanes at once. The choice changes no result.

    **Two levels.** In a program *with calls* (figure 2 of the paper) functions call each other by `autobatch.call`. A
    program *with explicit stacks* (figure 4) has one function; calls are lowered to `push`, `push_jump`, `indirect_jump`
    and `pop`. All other operations belong to both levels.

    **State is named.** A lane's state is its program counter and, for each variable, a current value and the values saved
    below it. Variables are symbols (`autobatch.var`), and operations name the variables that they read and write; there are
    no operands, results or block arguments. Lanes that took different paths meet at a block, which requires that every path
    leaves the same variables in the same places.

    **What is not a type.** The allocation of a variable, not its type, says whether it has a stack, because passes change this and
    nothing else about the variable. The program counter and the masks of lanes belong to executors
    and are not part of the module. Return addresses are ordinary variables of type `tensor<i32>`.

    **Names of blocks.** An `autobatch.label` names a block; the name of a block without a label comes from its
    position. MLIR does not allow jumps to the first block of a region. If the program has such a jump, an unlabelled block
    that only jumps is put in front. A branch that leaves its function goes to an unlabelled block that only returns.

    **Invalid input.** All strings are UTF-8, including those of code: a custom call configured by other bytes is refused.
    Any text that is not a program is refused with an error, and so is bytecode that MLIR's reader rejects. But this reader
    trusts the numbers and references in bytecode: damaged bytecode may end the process, use all memory, or never finish. Of
    5,000 files with one to three places changed, three did.

    Reference: Radul et al., *Automatically batching control-intensive programs for modern accelerators*, MLSys 2020.

    #### Constraints
    * ods_c1: every operation, attribute, region and successor is one that this dialect declares, and has the declared
      kind; none that is declared is missing, unless it is optional; no operation stands in the code of a primitive,
      and no attribute is a location

    #### Example
    ```mlir
    autobatch.program @main
    autobatch.var @n : tensor<i32>
    autobatch.var @bound : tensor<i32>
    autobatch.var @less : tensor<i1>
    autobatch.func @main [@n, @bound] -> [@n] {
      autobatch.jump ^while
    ^while:
      autobatch.label "while"
      autobatch.prim @code_0 [@n, @bound] -> [@less] "n < bound"
      autobatch.branch @less, ^body, ^exit
    ^body:
      autobatch.label "body"
      autobatch.prim @code_1 [@n] -> [@n] "n + n"
      autobatch.jump ^while
    ^exit:
      autobatch.return
    }
    func.func private @code_0(%n: tensor<?xi32>, %bound: tensor<?xi32>) -> tensor<?xi1> {
      %0 = stablehlo.compare LT, %n, %bound : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
      return %0 : tensor<?xi1>
    }
    func.func private @code_1(%n: tensor<?xi32>) -> tensor<?xi32> {
      %0 = stablehlo.add %n, %n : tensor<?xi32>
      return %0 : tensor<?xi32>
    }
    ```
  }];
  let usePropertiesForAttributes = 0;
  let extraClassDeclaration = [{
    ::mlir::Type parseType(::mlir::DialectAsmParser &parser) const override; void printType(::mlir::Type type,
        ::mlir::DialectAsmPrinter &printer) const override; }];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class Autobatch_Type<string cppName, string typeMnemonic> : TypeDef<Autobatch_Dialect, cppName> {
  let mnemonic = typeMnemonic;
}

def Autobatch_WeakType : Autobatch_Type<"Weak", "weak"> {
  let summary = "a Python number that adopts the element type of the tensor that it meets";
  let description = [{
    Stored as `value`. In arithmetic with a tensor of the same kind of number (integers, floats, complex) the tensor's
    element type wins, as JAX has it for Python's own numbers.

    #### Example
    ```mlir
    !autobatch.weak<tensor<f32>>
    ```
  }];
  let parameters = (ins "::mlir::Type":$value);
  let assemblyFormat = "`<` $value `>`";
}

def Autobatch_KeyType : Autobatch_Type<"Key", "key"> {
  let summary = "typed PRNG keys";
  let description = [{
    Keys of a generator (`fry`, `rbg`, …), stored as `words`: the last dimensions of `words` hold the words of one key, and
    those before them are the shape of the array of keys.

    #### Example
    ```mlir
    !autobatch.key<"fry", tensor<3x2xui32>>
    ```
  }];
  let parameters = (ins StringRefParameter<"name of the generator">:$generator, "::mlir::Type":$words);
  let assemblyFormat = "`<` $generator `,` $words `>`";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Autobatch_Vars : TypedArrayAttrBase<FlatSymbolRefAttr, "names of variables">;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

class Autobatch_Op<string opMnemonic, list<Trait> traits = []> : Op<Autobatch_Dialect, opMnemonic, traits> {
  let extraClassDeclaration = [{ static auto getVerifyInvariantsFn() { return &verifyDeclared<ConcreteOpType>; } }];
}

def Autobatch_ProgramOp : Autobatch_Op<"program", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, HasParent<"::mlir::ModuleOp">]> {
  let summary = "marks a module as a program, and names its entry function";
  let description = [{
    A module with this operation holds one program: every `autobatch.var` and `autobatch.func` in it, and as `func.func` the
    code of its primitives. Each lane starts at the first block of `entry`, with its own row of each argument in the
    parameters, and is done when it returns from there; its results are then in the function's `outs`.

    #### Constraints
    * program_c1: names of blocks are unique in their function, and none is `halt`
    * program_c2: every function has at least one block
    * program_c3: every successor is a block of the same function (MLIR's parser knows no others)
    * program_c4: names of functions and variables are unique
    * program_c5: every variable that an operation names is declared
    * program_c6: in a program with calls, no two functions write or receive the same variable
    * program_c7: a module has one `autobatch.program`, and `entry` is one of its functions

    #### Example
    ```mlir
    autobatch.program @main
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$entry
  );
  let assemblyFormat = "$entry attr-dict";
}

def Autobatch_FuncOp : Autobatch_Op<"func", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockNames"]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>, HasParent<"::mlir::ModuleOp">, IsolatedFromAbove, Symbol]> {
  let summary = "a function: basic blocks, parameters, results";
  let description = [{
    A caller's arguments are written to the variables `ins`; when control has left, the results are in the variables
    `outs`. The first block is the entry. The order of the blocks is their priority: under the earliest-first schedule the
    first block at which any lane stands runs next.

    #### Constraints
    * func_c1: an unlabelled entry block that only jumps (it stands for no block of the program) jumps to the next one
    * func_c2: every block ends in a terminator, and has no other: `branch`, `jump`, `push_jump`, `indirect_jump`, `return`
    * func_c3: blocks have no arguments
    * func_c4: `ins` are distinct

    #### Example
    ```mlir
    autobatch.func @double [@double.n] -> [@double.r] {
      autobatch.label "entry"
      autobatch.prim @add [@double.n, @double.n] -> [@double.r] "n + n"
      autobatch.return
    }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    Autobatch_Vars:$ins,
    Autobatch_Vars:$outs
  );
  let regions = (region AnyRegion:$body);
  let hasVerifier = 1;
  let assemblyFormat = "$sym_name $ins `->` $outs attr-dict-with-keyword $body";
}

def Autobatch_VarOp : Autobatch_Op<"var", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, HasParent<"::mlir::ModuleOp">, Symbol]> {
  let summary = "declares a variable: what one lane holds in it, and how it is stored";
  let description = [{
    `pattern` is what one lane holds, without the batch dimension:

    | Written | Means |
    |---|---|
    | `tensor<3xf32>` | an array |
    | `!autobatch.weak<tensor<f32>>` | a Python number that adopts the element type of the tensor that it meets |
    | `!autobatch.key<"fry", tensor<2xui32>>` | typed PRNG keys, and the words they are stored as |
    | `[P, Q]` | a tuple of patterns |
    | `{node = "list", items = [P, Q]}` | a list; likewise `"dict"` with `keys`, `"none"`, and other pytrees by `module:Class` |
    | `{static = V}` | a Python object, the same in every lane: it takes no storage |

    `allocation` is a proof that this much storage suffices:

    | Allocation | Means | Stored as |
    |---|---|---|
    | `null` | holds no array, or nothing reads it | nothing |
    | `shared` | the same in every lane, computed before the loop | `[*event]` |
    | `temporary` | lives inside one block | nothing: a value inside that block |
    | `register` | lives across blocks, but not across a call that may come back here | `[lanes, *event]` |
    | `full` | read after a call during which its function may be entered again | a top `[lanes, *event]` and a stack |

    Without an allocation the variable has not been allocated yet, and `full` suffices for every variable.

    #### Constraints
    * var_c1: `pattern` is written as above, with static shapes
    * var_c2: `allocation` is `null`, `shared`, `temporary`, `register` or `full`
    * alloc_c1: a `temporary` is not used in a block before that block gives it a value
    * alloc_c2: a `null` variable that holds tensors is never read
    * alloc_c3: a `shared` variable is an input, or written once, in the entry block, from `shared` variables
    * alloc_c4: where one result of an operation is `shared`, the others are `shared` or `null`

    #### Example
    ```mlir
    autobatch.var @fibonacci.n stored "full" : tensor<i32>
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    AnyAttr:$pattern,
    OptionalAttr<StrAttr>:$allocation
  );
  let assemblyFormat = "$sym_name (`stored` $allocation^)? `:` $pattern attr-dict";
}

def Autobatch_LabelOp : Autobatch_Op<"label", [HasParent<"FuncOp">]> {
  let summary = "names its block";
  let description = [{
    Does nothing in any lane. `sync` marks a point at which it is worth waiting for other lanes (`hb.sync()`). The location
    of a label is that of its block.

    #### Constraints
    * label_c1: a label is the first operation of its block

    #### Example
    ```mlir
    autobatch.label "while" sync
    ```
  }];
  let arguments = (ins
    StrAttr:$name,
    UnitAttr:$sync
  );
  let assemblyFormat = "$name (`sync` $sync^)? attr-dict";
}

def Autobatch_PrimOp : Autobatch_Op<"prim", [HasParent<"FuncOp">]> {
  let summary = "runs straight-line code: `y = f(x)`";
  let description = [{
    Per lane: reads the current values of `ins`, computes, and overwrites the current values of `outs`; what is saved below
    them stays. (On a variable with a stack this is the paper's Update.) All of `ins` are read before any of `outs` is
    written.

    The code is `callee`, a StableHLO `func.func` of the same module that works on any number of lanes: its parameters are
    the arrays of `ins` in order, its results those of `outs`, each as it is stored, with the dynamic dimension of lanes
    first. An array of a `shared` variable has no such dimension; neither have the results of code all of whose parameters
    have none, such as a constant. Row i of each result depends on row i of each parameter alone. `text` is the source it
    stands for. Two attributes of the function are for passes: `autobatch.cost`, its operations per lane, and
    `autobatch.counted`, that its loops turn a known number of times; where they are missing, passes guess.

    #### Constraints
    * prim_c1: `outs` are distinct
    * prim_c2: `callee` is a `func.func` with a body
    * prim_c3: its parameters are the arrays of `ins`: `tensor<?x…>`, or `tensor<…>` where the variable is `shared`
    * prim_c4: its results are the arrays of `outs`: `tensor<?x…>`, or `tensor<…>` where no parameter has the dimension

    #### Example
    ```mlir
    autobatch.prim @code [@f.n, @f.k] -> [@f.n] "n - k"

    func.func private @code(%n: tensor<?xi32>, %k: tensor<?xi32>) -> tensor<?xi32> {
      %0 = stablehlo.subtract %n, %k : tensor<?xi32>
      return %0 : tensor<?xi32>
    }
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$callee,
    Autobatch_Vars:$ins,
    Autobatch_Vars:$outs,
    OptionalAttr<StrAttr>:$text
  );
  let assemblyFormat = "$callee $ins `->` $outs ($text^)? attr-dict";
}

def Autobatch_MoveOp : Autobatch_Op<"move", [HasParent<"FuncOp">]> {
  let summary = "copies variables, all at once";
  let description = [{
    Per lane: reads the current values of `ins`, then overwrites those of `outs` with them, in order. Element types adopt
    the target's. Lowered calls pass arguments and results by it; passes look for it, since storage may be shared
    instead.

    #### Constraints
    * prim_c1: `outs` are distinct
    * move_c1: as many `ins` as `outs`
    * move_c2: each pair has arrays of the same shapes

    #### Example
    ```mlir
    autobatch.move [@f.$3, @f.k] -> [@f.n, @f.m]
    ```
  }];
  let arguments = (ins
    Autobatch_Vars:$ins,
    Autobatch_Vars:$outs,
    OptionalAttr<StrAttr>:$text
  );
  let assemblyFormat = "$ins `->` $outs ($text^)? attr-dict";
}

def Autobatch_CallOp : Autobatch_Op<"call", [HasParent<"FuncOp">]> {
  let summary = "calls a function of the program: `y = F(x)`";
  let description = [{
    Per lane: the current values of `ins` become those of the parameters of `callee`, the function runs until it returns,
    and its results become the current values of `outs`. Every variable of the calling function is afterwards as it was
    before, `outs` apart, also if the function has called itself. Call lowering replaces it.

    #### Constraints
    * call_c1: `callee` is an `autobatch.func`, and not the entry
    * call_c2: as many `ins` as the callee has parameters
    * call_c3: as many `outs` as the callee has results
    * call_c4: each argument has arrays of the shapes that the parameter has, and each result likewise
    * call_c5: only the terminator of its block follows: what lives across a call is what lives where its block ends

    #### Example
    ```mlir
    autobatch.call @fibonacci [@fibonacci.$3] -> [@fibonacci.$2]
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$callee,
    Autobatch_Vars:$ins,
    Autobatch_Vars:$outs
  );
  let assemblyFormat = "$callee $ins `->` $outs attr-dict";
}

def Autobatch_PushOp : Autobatch_Op<"push", [HasParent<"FuncOp">]> {
  let summary = "saves the current values of variables";
  let description = [{
    Per lane, for each variable: its stack grows by a frame that holds a copy of the current value, which stays current. A
    lane whose stack is full waits until it has grown. (The paper's Push also writes; here a `prim` or `move` follows.)

    #### Constraints
    * push_c1: only variables with a stack (`full`) are pushed or popped

    #### Example
    ```mlir
    autobatch.push [@fibonacci.n]
    ```
  }];
  let arguments = (ins
    Autobatch_Vars:$variables
  );
  let assemblyFormat = "$variables attr-dict";
}

def Autobatch_PopOp : Autobatch_Op<"pop", [HasParent<"FuncOp">]> {
  let summary = "restores the values of variables that were saved last";
  let description = [{
    Per lane, for each variable: the value saved last becomes the current one, and its frame is gone.

    #### Constraints
    * push_c1: only variables with a stack (`full`) are pushed or popped

    #### Example
    ```mlir
    autobatch.pop [@fibonacci.n]
    ```
  }];
  let arguments = (ins
    Autobatch_Vars:$variables
  );
  let assemblyFormat = "$variables attr-dict";
}

def Autobatch_BranchOp : Autobatch_Op<"branch", [DeclareOpInterfaceMethods<BranchOpInterface>, HasParent<"FuncOp">, Terminator]> {
  let summary = "branches on a condition";
  let description = [{
    Per lane: to `trueDest` where the current value of `condition` holds, else to `falseDest`.

    #### Constraints
    * branch_c1: the condition is a scalar boolean

    #### Example
    ```mlir
    autobatch.branch @fibonacci.$if1, ^then, ^after_if
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$condition
  );
  let successors = (successor AnySuccessor:$trueDest, AnySuccessor:$falseDest);
  let assemblyFormat = "$condition `,` $trueDest `,` $falseDest attr-dict";
}

def Autobatch_JumpOp : Autobatch_Op<"jump", [DeclareOpInterfaceMethods<BranchOpInterface>, HasParent<"FuncOp">, Terminator]> {
  let summary = "goes to a block";
  let description = [{
    Per lane: to `dest`.

    #### Example
    ```mlir
    autobatch.jump ^while
    ```
  }];
  let successors = (successor AnySuccessor:$dest);
  let assemblyFormat = "$dest attr-dict";
}

def Autobatch_PushJumpOp : Autobatch_Op<"push_jump", [HasParent<"FuncOp">, Terminator]> {
  let summary = "a lowered call: saves the return address, and jumps";
  let description = [{
    Per lane: saves the current value of `counter`, makes `returnDest` its current value, and goes to `dest`. A counter
    allocated `register` has no stack, and is only overwritten: its functions never call back into themselves.

    #### Constraints
    * push_jump_c1: `returnDest` is a block of the same function, and not its exit
    * push_jump_c2: no function but the entry is left in a program with lowered calls
    * push_jump_c3: `counter` holds a `tensor<i32>` and is allocated `full`, `register`, or not yet

    #### Example
    ```mlir
    autobatch.push_jump ^fibonacci.entry, return to ^fibonacci.after_if by @fibonacci.$return
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$counter
  );
  let successors = (successor AnySuccessor:$dest, AnySuccessor:$returnDest);
  let assemblyFormat = "$dest `,` `return` `to` $returnDest `by` $counter attr-dict";
}

def Autobatch_IndirectJumpOp : Autobatch_Op<"indirect_jump", [HasParent<"FuncOp">, Terminator]> {
  let summary = "a lowered return: jumps to the return address";
  let description = [{
    Per lane: goes to the block that is the current value of `counter`, and restores the value saved before it. At the
    start every counter holds the exit of the program.

    #### Constraints
    * push_jump_c3: `counter` holds a `tensor<i32>` and is allocated `full`, `register`, or not yet

    #### Example
    ```mlir
    autobatch.indirect_jump @fibonacci.$return
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$counter
  );
  let assemblyFormat = "$counter attr-dict";
}

def Autobatch_ReturnOp : Autobatch_Op<"return", [HasParent<"FuncOp">, Terminator]> {
  let summary = "leaves the function";
  let description = [{
    Per lane: control leaves the function, whose `outs` now hold its results. A lane that leaves the entry function is done.

    #### Example
    ```mlir
    autobatch.return
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // AUTOBATCH_TD
