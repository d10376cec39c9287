"""What every masking method starts from and ends with: inputs, exact noise, results."""
