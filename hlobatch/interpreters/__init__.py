"""Programs run without compiling them: the definitional meaning, the paper's two algorithms, and their backends."""
