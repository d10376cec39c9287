"""Figures and tables of the papers, made again by this system; one small module each."""
