"""What is simulated: sources of records, tables, designs, and how they are randomized.

What is measured of it is one floor up.
"""
