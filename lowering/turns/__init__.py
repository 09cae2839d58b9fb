"""The functions of blocks -> one turn of the loop: which blocks run, and how lanes take inputs and hand in results."""
