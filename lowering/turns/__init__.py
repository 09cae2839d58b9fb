"""The functions of blocks -> one turn of the loop: what runs next, and how inputs come and go."""
