"""Facts about programs: each module computes one, and changes nothing."""
