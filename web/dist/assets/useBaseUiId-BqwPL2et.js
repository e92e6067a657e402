//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-Bw_fC8tM.js";function t(t){return e(t,`base-ui`)}export{t};