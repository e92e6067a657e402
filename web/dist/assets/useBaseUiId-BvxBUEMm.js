//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-5Q6y4Zs8.js";function t(t){return e(t,`base-ui`)}export{t};