"""What a machine wants: for each platform, which form of a program is the faster one there."""
